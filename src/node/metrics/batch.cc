// SPDX-License-Identifier: Apache-2.0
#include "node/metrics/batch.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace stoker::node {
namespace {

constexpr size_t kMaxHeld = 2 * (metrics::kWhole + metrics::kBuckets);
constexpr size_t kMaxHyperparameters = 500;
constexpr size_t kMaxValue = 2000;
// Loggers of Lightning write it at step 0 whenever they begin.
constexpr std::string_view kNoStep = "hp_metric";

}  // namespace

MetricBatch::Series* MetricBatch::Find(const std::string& name, const std::string& source,
                                       bool steps) {
  const auto found = series_.find({name, source});
  if (found != series_.end()) return &found->second;
  if (series_.size() >= kMaxSeries) return nullptr;
  Series& series = series_[{name, source}];
  series.name = name;
  series.source = source;
  const auto order = orders_.find(name);
  if (order != orders_.end()) series.order = order->second;
  Choose(series, steps);
  return &series;
}

void MetricBatch::set_source(const std::string& prefix, const std::string& source) {
  if (prefix != prefix_ || source != source_) names_ = {};
  if (source != source_) begin_ = nullptr;
  prefix_ = prefix;
  source_ = source;
}

// The first of its points says where an attempt began in a source.
std::optional<int64_t> MetricBatch::NoteBegin(std::string_view name, const metrics::Point& point) {
  if (source_.empty() || !point.step) return std::nullopt;
  if (begin_ == nullptr) begin_ = &begins_[source_];
  SourceBegin& begin = *begin_;
  if (!point.by_epoch && !begin.step && name != kNoStep) begin.step = point.step;
  if (point.by_epoch && !begin.epoch) begin.epoch = point.step;
  if (point.epoch >= 0 && !begin.epoch) begin.epoch = point.epoch;
  return point.by_epoch ? begin.epoch : begin.step;
}

// Names come again and again, as a rule in the same order: they are looked up once.
MetricBatch::Series* MetricBatch::Named(std::string_view name, const metrics::Point& point) {
  Names& names = names_[point.bar ? 1 : 0];
  Known* const last = names.last;
  if (last != nullptr && last->next != nullptr && last->next->name == name) {
    names.last = last->next;
    return last->next->series;
  }
  auto known = names.all.find(name);
  if (known == names.all.end()) {
    const std::string full = metrics::SeriesName(prefix_ + std::string(name));
    Series* found = Find(full, point.bar ? "bar" : source_, point.step.has_value());
    if (found == nullptr || name.size() > metrics::kMaxName) return found;
    known = names.all.emplace(name, Known{found, {}, nullptr}).first;
    known->second.name = known->first;
  }
  names.last = &known->second;
  if (last != nullptr) last->next = names.last;
  return names.last->series;
}

// False: the point is held.
bool MetricBatch::Opens(std::string_view name, const metrics::Point& point) {
  if (source_.empty() || !point.step || name == kNoStep) return true;
  if (begin_ == nullptr) {
    const auto known = begins_.find(source_);
    if (known != begins_.end()) begin_ = &known->second;
  }
  if (begin_ != nullptr && (point.by_epoch ? begin_->epoch : begin_->step)) return true;
  Opening& opening = openings_[{source_, point.by_epoch}];
  if (!opening.Take(prefix_, name, point)) return true;
  if (opening.over()) Give(opening);
  return false;
}

void MetricBatch::Give(Opening& opening) {
  const std::string prefix = prefix_;
  const std::string source = source_;
  for (const Opening::Held& held : opening.Give()) {
    set_source(held.prefix, source);
    OnPoint(held.name, held.point);
  }
  set_source(prefix, source);
  if (const auto stray = opening.TakeStray()) notes_.push_back({"", source, "", "", stray});
}

void MetricBatch::OnPoint(std::string_view name, const metrics::Point& point) {
  if (name.empty() || (restored_ && !Opens(name, point))) return;
  Series* series = Named(name, point);
  if (series == nullptr) {
    ++left_out_;
    return;
  }
  const std::optional<int64_t> begin = NoteBegin(name, point);
  const int64_t step = point.step.value_or(series->order);
  Series* into = series->renamed != nullptr ? series->renamed : series->aside ? nullptr : series;
  if (into != series) {
    series->ordered |= !point.step;
    series->by_epoch |= point.by_epoch;
    ++series->order;
  }
  if (several_ || series->pair) HoldAgainst(*series, {step, point.time, point.value});
  if (into != nullptr) Put(*into, step, point, begin);
}

void MetricBatch::Put(Series& series, int64_t step, const metrics::Point& point,
                      const std::optional<int64_t>& begin) {
  series.ordered |= !point.step;
  series.by_epoch |= point.by_epoch;
  ++series.order;
  series.totals.Add(step, point.time, point.value);
  series.whole.push_back({step, point.time, point.value});
  if (watcher_) {
    const metrics::Entry entry = metrics::EntryOf(step, point.time, point.value);
    watcher_(series.name, series.ordered, &entry, begin);
  }
  if (series.buckets.size() + series.whole.size() > kMaxHeld) Thin(series);
  ++points_;
  ++waiting_;
}

void MetricBatch::OnHyperparameter(std::string_view name, const std::string& json) {
  if (hyperparameters_.size() >= kMaxHyperparameters || json.size() > kMaxValue) return;
  std::string& value = hyperparameters_[metrics::SeriesName(prefix_ + std::string(name))];
  told_ |= value != json;
  value = json;
}

std::string MetricBatch::SomeNames() const {
  constexpr size_t kSome = 8;
  std::vector<std::string> names;
  size_t more = 0;
  for (const auto& [key, series] : series_) {
    if (series.aside) continue;
    if (names.size() == kSome) ++more;
    if (names.size() < kSome) names.push_back("'" + Printable(CutText(series.name, 60)) + "'");
  }
  if (names.empty()) return "none";
  return Join(names, ", ") + (more > 0 ? " and " + std::to_string(more) + " more" : "");
}

// What waits of it, which then does no more, in the bounds of a segment.
std::vector<metrics::Entry> MetricBatch::TakeEntries(Series& series) {
  std::vector<metrics::Entry> entries = std::exchange(series.buckets, {});
  entries.reserve(entries.size() + series.whole.size());
  for (const Whole& one : series.whole) {
    entries.push_back(metrics::EntryOf(one.step, one.time, one.value));
  }
  series.whole.clear();
  metrics::Thin(&entries);
  return entries;
}

void MetricBatch::Thin(Series& series) {
  std::vector<metrics::Entry> entries = TakeEntries(series);
  const size_t whole = std::min(entries.size(), metrics::kWhole);
  for (size_t i = entries.size() - whole; i < entries.size(); ++i) {
    series.whole.push_back({entries[i].last_step, entries[i].last_time, entries[i].last});
  }
  entries.resize(entries.size() - whole);
  series.buckets = std::move(entries);
}

Status MetricBatch::Take(const TakeSeries& take) {
  waiting_ = 0;
  Status failed;
  for (auto& [key, series] : series_) {
    if (series.whole.empty()) continue;
    const MetricSeries one{series.name, series.ordered, TakeEntries(series), series.by_epoch,
                           series.source};
    series.whole.shrink_to_fit();
    if (failed.ok()) failed = take(one);
  }
  return failed;
}

std::map<std::string, int64_t> MetricBatch::Orders() const {
  std::map<std::string, int64_t> orders = orders_;
  for (const auto& [key, series] : series_) {
    if (series.ordered && !series.aside) orders[series.name] = series.order;
  }
  return orders;
}

MetricTotals::Series MetricBatch::Totals() const {
  MetricTotals::Series totals = totals_;
  for (const auto& [key, series] : series_) {
    if (series.totals.count > 0 && !series.aside) totals[series.name].Add(series.totals);
  }
  return totals;
}

}  // namespace stoker::node
