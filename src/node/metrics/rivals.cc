// SPDX-License-Identifier: Apache-2.0
// Which of several sources of a name counts.
#include <algorithm>
#include <utility>

#include "node/metrics/batch.h"

namespace stoker::node {

using Verdict = SamePoints::Verdict;

// A series that is new may have a better one, or be the better one of others.
void MetricBatch::Choose(Series& fresh, bool steps) {
  if (metrics::IsOfLog(fresh.source)) {
    if (aside_.contains(metrics::PlainName(fresh.name)) ||
        !choice_.Counts(fresh.name, fresh.source)) {
      SetAside(fresh, "");
    }
    return;
  }
  choice_.Add(fresh.name, fresh.source, steps);
  const std::string plain = metrics::PlainName(fresh.name);
  const bool first_steps = steps && !std::exchange(steps_, steps_ || steps);
  for (auto& [key, other] : series_) {
    if (&other == &fresh || other.aside) continue;
    if (metrics::IsOfLog(other.source)) {
      const bool bar = first_steps && other.source == "bar";
      if (bar || metrics::PlainName(other.name) == plain) SetAside(other, fresh.source);
    }
  }
  for (auto at = series_.lower_bound({fresh.name, ""});
       at != series_.end() && at->first.first == fresh.name; ++at) {
    Series& other = at->second;
    if (&other == &fresh || metrics::IsOfLog(other.source) || other.source.empty()) continue;
    const bool better = choice_.Counts(fresh.name, fresh.source);
    if (!better && !choice_.Counts(other.name, other.source)) continue;  // neither is the best
    Pair(better ? fresh : other, better ? other : fresh);
  }
}

// What it has given counts no more; what waits of it is not kept.
void MetricBatch::SetAside(Series& series, const std::string& better) {
  if (std::exchange(series.aside, true)) return;
  const bool gave = series.totals.count > 0;
  for (const metrics::Entry& bucket : series.buckets) waiting_ -= bucket.count;
  waiting_ -= static_cast<int64_t>(series.whole.size());
  waiting_ = std::max<int64_t>(waiting_, 0);
  series.buckets.clear();
  series.whole.clear();
  series.totals = {};
  if (gave) totals_.erase(series.name);
  if (metrics::IsOfLog(series.source)) aside_.insert(metrics::PlainName(series.name));
  notes_.push_back({series.name, series.source, better, "", {}});
  if (gave && watcher_) watcher_(series.name, false, nullptr, std::nullopt);
}

void MetricBatch::Pair(Series& better, Series& worse) {
  SetAside(worse, better.source);
  if (better.pair || worse.pair || worse.settled) return;
  auto pair = std::make_shared<SamePoints>();
  for (Series* one : {&better, &worse}) {
    const auto side = one == &better ? SamePoints::kBetter : SamePoints::kWorse;
    if (one->recent) {
      for (const Recent& point : *one->recent) pair->Add(side, point);
    }
    one->recent.reset();
    one->pair = pair;
    one->rival = one == &better ? &worse : &better;
  }
  Decide(worse, pair->verdict());
}

// The same name may come from another file, too.
void MetricBatch::HoldAgainst(Series& series, const Recent& point) {
  if (series.pair) {
    const auto side = series.aside ? SamePoints::kWorse : SamePoints::kBetter;
    const auto pair = series.pair;
    pair->Add(side, point);
    Decide(series.aside ? series : *series.rival, pair->verdict());
  } else if (!metrics::IsOfLog(series.source) && !series.aside && !series.settled) {
    if (!series.recent) series.recent = std::make_unique<std::vector<Recent>>();
    Hold(point, series.recent.get());
  }
}

// `series`: the worse of a pair.
void MetricBatch::Decide(Series& series, Verdict verdict) {
  if (verdict == Verdict::kOpen) return;
  Series& better = *series.rival;
  const auto pair = std::move(series.pair);
  better.pair.reset();
  series.rival = better.rival = nullptr;
  series.settled = better.settled = true;
  if (verdict == Verdict::kSame) return;
  const std::string before = apart_ ? apart_(better.source, series.source) : series.source;
  Series* other = Find(metrics::SeriesName(before + "/" + series.name), series.source, true);
  if (other == nullptr) return;
  series.renamed = other;
  other->by_epoch = series.by_epoch;
  notes_.push_back({series.name, series.source, better.source, other->name, {}});
  const std::vector<Recent>& held = pair->held(SamePoints::kWorse);
  const auto begin = begins_.find(series.source);
  for (const Recent& point : held) {
    metrics::Point again{point.step, point.value, point.time};
    if (series.ordered) again.step.reset();
    Put(*other, point.step, again,
        begin != begins_.end() ? begin->second.step : std::optional<int64_t>());
  }
}

void MetricBatch::Settle() {
  for (auto& [key, opening] : openings_) {
    set_source("", key.first);
    Give(opening);
  }
  std::vector<Series*> open;
  for (auto& [key, series] : series_) {
    if (series.pair && series.aside) open.push_back(&series);
  }
  for (Series* series : open) Decide(*series, series->pair->Final());
}

}  // namespace stoker::node
