// SPDX-License-Identifier: Apache-2.0
#include "ledger/metrics/merge.h"

#include <memory>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

namespace stoker {
namespace {

// A segment, and where in it we are: its next series is a line that nobody has decoded yet.
class Part {
 public:
  explicit Part(MergePart from) : key_(std::move(from.key)), lines_(std::move(from.read)) {}

  Status Begin() {
    const auto line = lines_.Next();
    if (!line.ok()) return line.status().WithContext(key_);
    if (!*line) return Status(Code::kCorrupt, key_ + ": is empty");
    auto head = DecodeMetricHead(**line);
    if (!head.ok()) return head.status().WithContext(key_);
    head_ = std::move(*head);
    return Advance();
  }
  // Decodes its series, and goes on to the next.
  Result<MetricSeries> Take() {
    auto series = DecodeMetricSeries(*line_);
    if (!series.ok()) return series.status().WithContext(key_);
    STOKER_TRY(Advance());
    return series;
  }
  const MetricHead& head() const { return head_; }
  bool over() const { return !line_; }
  const SeriesKey& key() const { return next_; }  // of its series

 private:
  Status Advance() {
    const auto line = lines_.Next();
    if (!line.ok()) return line.status().WithContext(key_);
    line_ = *line;
    next_ = line_ ? MetricSeriesKey(*line_) : SeriesKey();
    return Status::Ok();
  }

  const std::string key_;
  MetricLines lines_;
  MetricHead head_;
  std::optional<std::string_view> line_;
  SeriesKey next_;
};

using Parts = std::vector<std::unique_ptr<Part>>;

const SeriesKey* LeastKey(const Parts& parts) {
  const SeriesKey* least = nullptr;
  for (const auto& part : parts) {
    if (!part->over() && (least == nullptr || part->key() < *least)) least = &part->key();
  }
  return least;
}

Status GiveMerged(Parts& parts, const TakeSeries& take) {
  while (const SeriesKey* least = LeastKey(parts)) {
    const SeriesKey key = *least;
    MetricSeries all;
    std::tie(all.name, all.source) = key;
    for (const auto& part : parts) {
      if (part->over() || part->key() != key) continue;
      STOKER_ASSIGN(const MetricSeries series, part->Take());
      all.ordered |= series.ordered;
      all.by_epoch |= series.by_epoch;
      // As large as all parts are likely to be together, and not half as much again.
      if (all.entries.empty()) all.entries.reserve(series.entries.size() * parts.size());
      all.entries.insert(all.entries.end(), series.entries.begin(), series.entries.end());
    }
    metrics::Thin(&all.entries);
    STOKER_TRY(take(all));
  }
  return Status::Ok();
}

}  // namespace

Status MergeMetricSegments(std::vector<MergePart> from, const TakePacked& take) {
  Parts parts;
  for (MergePart& each : from) {
    parts.push_back(std::make_unique<Part>(std::move(each)));
    STOKER_TRY(parts.back()->Begin());
  }
  MetricHead head = parts.back()->head();
  head.first = parts.front()->head().first;
  head.flushes = 0;
  for (const auto& part : parts) head.flushes += part->head().flushes;
  return PackMetrics(
      head, [&](const TakeSeries& each) { return GiveMerged(parts, each); }, take);
}

}  // namespace stoker
