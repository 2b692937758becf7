// SPDX-License-Identifier: Apache-2.0
// Which segments of metrics a job has: listed, written, merged, read. A segment's number says which
// flushes of its node it holds; larger ones repeat what smaller ones held, which then go.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "ledger/log/log_segments.h"
#include "ledger/metrics/segment.h"
#include "metrics/curve.h"
#include "metrics/metric_totals.h"
#include "metrics/sources.h"
#include "port/object_store.h"

namespace stoker {

// jobs/<job>/metrics/<attempt>-<rank>/<%012d first>-<flushes>.zst
std::string MetricSegmentKey(const std::string& job, int attempt, int rank, int64_t first,
                             int64_t flushes);
// What LogSegment calls lines are flushes here.
Result<LogMap> ListMetricSegments(ObjectStore& store, const std::string& job, int attempt = -1,
                                  int rank = -1);

// So many that follow one another and hold the same number of flushes become one.
inline constexpr size_t kMergeAt = 8;

// Writes the segments of one node. Not thread-safe.
class MetricWriter {
 public:
  MetricWriter(ObjectStore& store, std::string job, int attempt, int rank);
  // What a former process of this node has written: the head of its last segment, if there is one.
  // Before Write.
  Result<std::optional<MetricHead>> Begin();
  // Takes what the next segment holds; Send brings it into the store. Not while one is pending.
  Status Add(MetricHead head, const GiveSeries& give);
  bool pending() const { return !pending_.empty(); }
  // Create-only, and the same bytes at each try. kConflict: an agent of the same place has written
  // something else under this number; Begin says what.
  Status Send();
  // Merges what there is to merge; a failure does no harm. What is damaged stays as it is: it is
  // said once, and not tried again by this process.
  Status Merge();
  int64_t next() const { return next_; }

 private:
  std::vector<LogSegment> Row() const;
  Status MergeRow(const std::vector<LogSegment>& row, const std::string& into);

  ObjectStore& store_;
  const std::string job_;
  const int attempt_;
  const int rank_;
  SegmentSet segments_;
  std::vector<std::string> spent_;
  int64_t next_ = 1;
  int64_t unmerged_ = 1;  // what begins before this is left as it is
  std::string pending_;   // packed
};

// The last head of the newest attempt before `before` that has any: how far it had read.
Result<std::optional<MetricHead>> ReadEarlierHead(ObjectStore& store, const std::string& job,
                                                  int rank, int before);

// What attempts before `now` came to, without what they and it threw away, and without what better
// sources have; `sources`: of `now`. Held is one series.
Result<MetricTotals::Series> ReadEarlierTotals(ObjectStore& store, const std::string& job,
                                               const MetricHead& now,
                                               const metrics::SourceChoice& sources);

// By source, the last step that attempts before `now` gave until what `now` restored was saved
// (MetricHead::resumed). Held is one series.
Result<std::map<std::string, int64_t>> ReadLastSteps(ObjectStore& store, const std::string& job,
                                                     const MetricHead& now);

// All that a job has, of one rank: for each series what each attempt has of it, from the best
// source that has its name, and of each one that came later where it began.
struct RunMetrics {
  std::map<std::string, std::vector<metrics::AttemptPart>> series;
  std::map<int, MetricHead> heads;    // by attempt, of the last segment
  std::vector<std::string> troubles;  // segments that cannot be read, and gaps
};
// `wanted`: of these series alone; may be empty.
Result<RunMetrics> ReadMetrics(ObjectStore& store, const std::string& job, int rank,
                               const std::function<bool(const std::string&)>& wanted);

}  // namespace stoker
