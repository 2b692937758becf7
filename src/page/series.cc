// SPDX-License-Identifier: Apache-2.0
#include "page/series.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "base/json.h"
#include "view/metrics.h"

namespace stoker::page {
namespace {

using metrics::CurveEntry;
using nlohmann::json;

constexpr size_t kMostGpus = 64;

int64_t FirstOf(const CurveEntry& at, bool by_time) {
  return by_time ? at.entry.first_time.ms : at.entry.first_step;
}
int64_t LastOf(const CurveEntry& at, bool by_time) {
  return by_time ? at.entry.last_time.ms : at.entry.last_step;
}

double Number(const json& from, const char* key) {
  const auto found = from.find(key);
  if (found == from.end() || !found->is_number()) return 0;
  const auto value = found->get<double>();
  return std::isfinite(value) && value > 0 && value < 9e15 ? value : 0;
}

// What a count grows by, a second.
class Rate {
 public:
  Rate(const char* count, const char* at) : count_(count), at_(at) {}
  // Since the last one that said something; null where that is less than a second ago (CPU time
  // counts in hundredths of one), or not known.
  json Next(const json& now) {
    if (!now.contains(count_)) return nullptr;
    const double at = Number(now, now.contains(at_) ? at_ : "at_ms");
    const double count = Number(now, count_);
    const auto last = std::exchange(last_, std::pair(at, count));
    if (!last) return nullptr;
    if (at - last->first < kRateMs) {
      last_ = last;
      return nullptr;
    }
    return std::max(0.0, count - last->second) * 1000 / (at - last->first);
  }

 private:
  static constexpr double kRateMs = 1000;
  const char* count_;
  const char* at_;
  std::optional<std::pair<double, double>> last_;
};

constexpr const char* kGpuColumns[] = {"busy_percent", "memory_used_mib", "memory_total_mib",
                                       "power_w", "temperature_c"};

void AddGpus(const json& sample, size_t row, json* gpus) {
  const auto all = sample.find("gpu");
  if (all == sample.end() || !all->is_array()) return;
  for (size_t i = 0; i < std::min(all->size(), kMostGpus); ++i) {
    const json& gpu = (*all)[i];
    if (!gpu.is_object()) continue;
    while (gpus->size() <= i) gpus->push_back(json::object());
    for (const char* column : kGpuColumns) {
      json& list = (*gpus)[i][column];
      if (list.is_null()) list = json::array();
      while (list.size() < row) list.push_back(nullptr);
      list.push_back(Number(gpu, column));
    }
  }
}

}  // namespace

std::vector<CurveEntry> Condense(const std::vector<CurveEntry>& curve, const SeriesRange& range) {
  std::vector<CurveEntry> in;
  const CurveEntry* before = nullptr;
  bool after = false;
  for (const CurveEntry& at : curve) {
    if (LastOf(at, range.by_time) < range.from) {
      before = at.redone ? before : &at;
      continue;
    }
    if (FirstOf(at, range.by_time) > range.to) {
      if (after || at.redone) continue;
      after = true;
    }
    if (before != nullptr) in.push_back(*before);
    before = nullptr;
    in.push_back(at);
  }
  const size_t most = std::max<size_t>(1, range.pixels);
  if (in.size() <= 2 * most) return in;
  const size_t each = (in.size() + most - 1) / most;
  std::vector<CurveEntry> out;
  size_t joined = 0;
  for (const CurveEntry& at : in) {
    const bool alike = !out.empty() && out.back().attempt == at.attempt &&
                       out.back().redone == at.redone && joined < each;
    if (alike) {
      out.back().entry = metrics::Joined(out.back().entry, at.entry);
      ++joined;
    } else {
      out.push_back(at);
      joined = 1;
    }
  }
  return out;
}

json SeriesJson(std::string_view name, const std::vector<CurveEntry>& curve) {
  json out = {{"name", name}};
  const char* columns[] = {"step", "last_step", "time",    "last",   "min", "max",
                           "mean", "count",     "attempt", "redone", "nans"};
  for (const char* column : columns) out[column] = json::array();
  for (const CurveEntry& at : curve) {
    const metrics::Entry& e = at.entry;
    out["step"].push_back(e.first_step);
    out["last_step"].push_back(e.last_step);
    out["time"].push_back(e.last_time.ms);
    out["last"].push_back(NumberJson(e.last));
    out["min"].push_back(NumberJson(e.min));
    out["max"].push_back(NumberJson(e.max));
    out["mean"].push_back(NumberJson(e.mean));
    out["count"].push_back(e.count);
    out["attempt"].push_back(at.attempt);
    out["redone"].push_back(at.redone ? 1 : 0);
    out["nans"].push_back(e.nans);
  }
  return out;
}

json UsageColumns(std::string_view text, int attempt, int rank) {
  const json document = json::parse(text, nullptr, false);
  if (!document.is_object() || Number(document, "format") != 1) return nullptr;
  const auto samples = document.find("samples");
  if (samples == document.end() || !samples->is_array()) return nullptr;
  json at = json::array(), resident = json::array(), gpus = json::array();
  json cores = json::array(), received = json::array(), sent = json::array();
  json work = json::array();
  Rate cpu("cpu_seconds", "cpu_at_ms"), in("received_bytes", "at_ms"), out("sent_bytes", "at_ms");
  for (const json& sample : *samples) {
    if (!sample.is_object()) return nullptr;
    at.push_back(Number(sample, "at_ms"));
    cores.push_back(cpu.Next(sample));
    received.push_back(in.Next(sample));
    sent.push_back(out.Next(sample));
    resident.push_back(Number(sample, "resident_bytes"));
    work.push_back(sample.contains("work_bytes") ? json(Number(sample, "work_bytes"))
                                                 : json(nullptr));
    AddGpus(sample, at.size() - 1, &gpus);
  }
  return {{"attempt", attempt},
          {"node", rank},
          {"at_ms", at},
          {"cpu_cores", cores},
          {"resident_bytes", resident},
          {"work_bytes", work},
          {"gpus", gpus},
          {"received_per_s", received},
          {"sent_per_s", sent}};
}

}  // namespace stoker::page
