// SPDX-License-Identifier: Apache-2.0
#include "metrics/trackers/wandb_record.h"

#include <algorithm>
#include <cmath>

#include "base/json.h"
#include "base/protobuf.h"
#include "base/text.h"
#include "metrics/text_rows.h"
#include "metrics/trackers/settings_text.h"

namespace stoker::metrics {
namespace {

using protozero::pbf_reader;

std::optional<int64_t> Whole(double value) {
  constexpr double kMost = 9007199254740992.0;  // every whole number up to here is a double
  if (!(std::abs(value) <= kMost) || value != std::floor(value)) return std::nullopt;
  return static_cast<int64_t>(value);
}

const double* In(const Row& row, std::string_view name) {
  for (const auto& [key, value] : row) {
    if (key == name) return &value;
  }
  return nullptr;
}

// "epoch", "train/epoch": what counts them.
bool IsEpoch(std::string_view name) {
  return name == "epoch" || EndsWith(name, "/epoch") || EndsWith(name, "_epoch");
}

// JSON of a number; W&B's SDKs before 0.20 write those that are none as text.
std::optional<double> NumberOf(std::string_view json) {
  const bool quoted = json.size() > 2 && json.front() == '"' && json.back() == '"';
  if (quoted) json = json.substr(1, json.size() - 2);
  const auto number = ParseNumber(json);
  return quoted && number && std::isfinite(*number) ? std::nullopt : number;
}

// The media of a row: what is below them are their sizes, not metrics.
bool IsWithin(const std::string& path, const std::vector<std::string>& media) {
  return std::any_of(media.begin(), media.end(), [&](const std::string& one) {
    return StartsWith(path, one) && path.size() > one.size() && path[one.size()] == '.';
  });
}

}  // namespace

bool WandbRecords::Read(std::string_view bytes, bool gives, PointSink& sink) {
  return ReadProtobuf([&] {
    pbf_reader record(bytes.data(), bytes.size());
    while (record.next()) {
      switch (record.tag()) {
        case 2:
          TakeHistory(ViewOf(record), gives, sink);
          break;
        case 5:
          if (const std::string_view config = ViewOf(record); gives) TakeConfig(config, sink);
          break;
        case 12:
          TakeMetric(ViewOf(record));
          break;
        case 17: {
          const std::string_view run = ViewOf(record);
          pbf_reader fields(run.data(), run.size());
          while (fields.next(4)) {
            if (const std::string_view config = ViewOf(fields); gives) TakeConfig(config, sink);
          }
          break;
        }
        default:
          record.skip();
      }
    }
  });
}

// HistoryItem and ConfigItem: a key, or the path of one in dictionaries.
WandbRecords::Item WandbRecords::ReadItem(std::string_view bytes) {
  Item item;
  pbf_reader fields(bytes.data(), bytes.size());
  while (fields.next()) {
    switch (fields.tag()) {
      case 1:
      case 2: {
        const std::string_view key = ViewOf(fields);
        if (key.empty()) break;
        if (!item.path.empty()) item.path += '.';
        item.path += key;
        break;
      }
      case 16:
        item.json = ViewOf(fields);
        break;
      default:
        fields.skip();
    }
  }
  return item;
}

void WandbRecords::TakeConfig(std::string_view bytes, PointSink& sink) {
  pbf_reader config(bytes.data(), bytes.size());
  while (config.next(1)) {
    const Item item = ReadItem(ViewOf(config));
    if (item.path.empty() || item.path == "_wandb" || StartsWith(item.path, "_wandb.")) continue;
    GiveJsonSetting(item.path, item.json, sink);
  }
}

void WandbRecords::TakeMetric(std::string_view bytes) {
  Axis axis;
  pbf_reader metric(bytes.data(), bytes.size());
  while (metric.next()) {
    switch (metric.tag()) {
      case 1:
      case 2:
        axis.of = metric.get_string();
        break;
      case 4:
        axis.metric = metric.get_string();
        break;
      default:
        metric.skip();
    }
  }
  if (axis.of.empty() || axis.metric.empty() || axis.metric == "_step") return;
  std::erase_if(axes_, [&](const Axis& other) { return other.of == axis.of; });
  if (axes_.size() < kMostAxes) axes_.insert(axes_.begin(), std::move(axis));
}

// What define_metric says of the name itself counts more than what it says of several.
const std::string& WandbRecords::AxisOf(const std::string& name) const {
  for (const bool several : {false, true}) {
    for (const Axis& axis : axes_) {
      const bool glob = EndsWith(axis.of, "*");
      if (glob != several) continue;
      const bool of = glob
                          ? name.compare(0, axis.of.size() - 1, axis.of, 0, axis.of.size() - 1) == 0
                          : name == axis.of;
      if (of) return axis.metric;
    }
  }
  return usual_;
}

bool WandbRecords::IsAxis(const std::string& name) const {
  return name == usual_ || std::any_of(axes_.begin(), axes_.end(),
                                       [&](const Axis& axis) { return axis.metric == name; });
}

// A number of a row, or those of a dictionary in it.
WandbRecords::History WandbRecords::ReadHistory(std::string_view bytes) {
  History history;
  std::vector<Item> items;
  std::vector<std::string> media;
  pbf_reader fields(bytes.data(), bytes.size());
  while (fields.next()) {
    if (fields.tag() == 1) {
      Item item = ReadItem(ViewOf(fields));
      constexpr std::string_view kType = "._type";
      if (EndsWith(item.path, kType))
        media.push_back(item.path.substr(0, item.path.size() - kType.size()));
      items.push_back(std::move(item));
    } else if (fields.tag() == 2) {
      const std::string_view step = ViewOf(fields);
      pbf_reader number(step.data(), step.size());
      history.step = 0;
      while (number.next(1)) history.step = number.get_int64();
    } else {
      fields.skip();
    }
  }
  for (Item& item : items) {
    if (IsWithin(item.path, media)) continue;
    if (const auto number = NumberOf(item.json)) {
      history.row.emplace_back(std::move(item.path), *number);
    } else if (!item.json.empty() && item.json[0] == '{' &&
               item.json.find("\"_type\"") == item.json.npos) {
      const auto inner = ReadJsonRow(item.json);
      if (!inner) continue;
      for (const auto& [name, value] : inner->row) {
        history.row.emplace_back(item.path + "." + name, value);
      }
    }
  }
  if (const double* own = In(history.row, "_step"); own != nullptr && Whole(*own)) {
    history.step = Whole(*own);
  }
  const double* time = In(history.row, "_timestamp");
  if (time != nullptr && *time > 0 && *time < 1e11) {
    history.time.ms = static_cast<int64_t>(*time * 1000);
  }
  if (const double* epoch = In(history.row, "epoch"); epoch != nullptr && *epoch >= 0) {
    history.epoch = Whole(*epoch).value_or(-1);
  }
  return history;
}

void WandbRecords::ChooseAxis(const History& history) {
  if (std::exchange(begun_, true)) return;
  for (const char* name : {"step", "global_step"}) {
    const double* value = In(history.row, name);
    if (!usual_.empty() || value == nullptr || !Whole(*value)) continue;
    usual_ = name;
  }
}

void WandbRecords::TakeHistory(std::string_view bytes, bool gives, PointSink& sink) {
  const History history = ReadHistory(bytes);
  ChooseAxis(history);
  for (const auto& [name, value] : history.row) {
    if (IsAxis(name) && Whole(value)) marks_[name] = *Whole(value);
  }
  for (const auto& [name, value] : history.row) {
    if (name.empty() || name[0] == '_' || (IsAxis(name) && !IsEpoch(name))) continue;
    Point point;
    point.value = value;
    point.time = history.time;
    point.epoch = history.epoch;
    const std::string& axis = AxisOf(name);
    const auto mark = axis == name ? marks_.end() : marks_.find(axis);
    if (mark != marks_.end()) {
      point.step = mark->second;
      point.by_epoch = IsEpoch(axis);
    } else if (history.step) {
      if (!shift_) shift_ = *history.step <= 1 ? goes_on_ : 0;
      point.step = *history.step + *shift_;
    }
    if (gives) sink.OnPoint(name, point);
  }
}

}  // namespace stoker::metrics
