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

}  // namespace

MetricBatch::Series* MetricBatch::Find(const std::string& name) {
  const auto found = series_.find(name);
  if (found != series_.end()) return &found->second;
  if (series_.size() >= kMaxSeries) return nullptr;
  return &series_[name];
}

void MetricBatch::set_source(const std::string& prefix, const std::string& source) {
  if (prefix != prefix_ || source != source_) by_name_.clear();
  prefix_ = prefix;
  source_ = source;
}

// The first of its points says where an attempt began in a source.
std::optional<int64_t> MetricBatch::NoteBegin(std::string_view name, const metrics::Point& point) {
  if (source_.empty() || !point.step) return std::nullopt;
  SourceBegin& begin = begins_[source_];
  // Loggers of Lightning write it at step 0 whenever they begin.
  if (!point.by_epoch && !begin.step && name != "hp_metric") begin.step = point.step;
  if (point.by_epoch && !begin.epoch) begin.epoch = point.step;
  if (point.epoch >= 0 && !begin.epoch) begin.epoch = point.epoch;
  return point.by_epoch ? begin.epoch : begin.step;
}

// Names come again and again: they are looked at once.
std::pair<const std::string, MetricBatch::Series>* MetricBatch::Named(std::string_view name) {
  const auto known = by_name_.find(name);
  if (known != by_name_.end()) return known->second;
  const std::string full = metrics::SeriesName(prefix_ + std::string(name));
  if (Find(full) == nullptr) return nullptr;
  auto* found = &*series_.find(full);
  if (name.size() <= metrics::kMaxName) by_name_.emplace(name, found);
  return found;
}

void MetricBatch::OnPoint(std::string_view name, const metrics::Point& point) {
  if (name.empty()) return;
  auto* named = Named(name);
  if (named == nullptr) {
    ++left_out_;
    return;
  }
  Series* series = &named->second;
  series->ordered |= !point.step;
  series->by_epoch |= point.by_epoch;
  if (series->source != source_) series->source = source_;
  const std::optional<int64_t> begin = NoteBegin(name, point);
  const int64_t step = point.step.value_or(series->order);
  ++series->order;
  series->totals.Add(step, point.time, point.value);
  series->whole.push_back({step, point.time, point.value});
  if (watcher_) {
    watcher_(named->first, series->ordered, metrics::EntryOf(step, point.time, point.value), begin);
  }
  if (series->buckets.size() + series->whole.size() > kMaxHeld) Thin(*series);
  ++points_;
  ++waiting_;
}

void MetricBatch::OnHyperparameter(std::string_view name, const std::string& json) {
  if (hyperparameters_.size() >= kMaxHyperparameters || json.size() > kMaxValue) return;
  hyperparameters_[metrics::SeriesName(name)] = json;
}

std::string MetricBatch::SomeNames() const {
  constexpr size_t kSome = 8;
  if (series_.empty()) return "none";
  std::vector<std::string> names;
  for (const auto& [name, series] : series_) {
    if (names.size() < kSome) names.push_back("'" + Printable(CutText(name, 60)) + "'");
  }
  const size_t more = series_.size() - names.size();
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
  for (auto& [name, series] : series_) {
    if (series.whole.empty()) continue;
    const MetricSeries one{name, series.ordered, TakeEntries(series), series.by_epoch,
                           series.source};
    series.whole.shrink_to_fit();
    if (failed.ok()) failed = take(one);
  }
  return failed;
}

std::map<std::string, int64_t> MetricBatch::Orders() const {
  std::map<std::string, int64_t> orders;
  for (const auto& [name, series] : series_) {
    if (series.ordered) orders[name] = series.order;
  }
  return orders;
}

void MetricBatch::set_orders(const std::map<std::string, int64_t>& orders) {
  for (const auto& [name, order] : orders) {
    if (Series* series = Find(name)) {
      series->ordered = true;
      series->order = order;
    }
  }
}

MetricTotals::Series MetricBatch::Totals() const {
  MetricTotals::Series totals;
  for (const auto& [name, series] : series_) {
    if (series.totals.count > 0) totals[name] = series.totals;
  }
  return totals;
}

void MetricBatch::set_totals(const MetricTotals::Series& totals) {
  for (const auto& [name, of] : totals) {
    if (Series* series = Find(name)) series->totals = of;
  }
}

}  // namespace stoker::node
