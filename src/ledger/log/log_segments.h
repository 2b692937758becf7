// SPDX-License-Identifier: Apache-2.0
// Which segments a log has, and what they cover: listing, coverage, gaps. The format is in
// log_record.h.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "ledger/log/log_record.h"
#include "port/object_store.h"

namespace stoker {

// The segments of one (attempt, rank). Pure.
class SegmentSet {
 public:
  void Add(LogSegment segment);
  void Remove(const std::string& key);
  // Ordered by first line; of several with the same first line the longest comes first.
  const std::vector<LogSegment>& segments() const { return segments_; }
  // The segment that holds `line` and reaches farthest, without those in `skip`; else null.
  const LogSegment* Covering(int64_t line, const std::set<std::string>& skip = {}) const;
  // The segment with the smallest first line beyond `line`, without those in `skip`; else null.
  const LogSegment* After(int64_t line, const std::set<std::string>& skip = {}) const;
  // One past the last line that any segment names; 1 when there is none.
  int64_t end() const;
  // Those whose every line other (larger, or equal and earlier-sorted) segments hold too.
  std::vector<LogSegment> Covered() const;

 private:
  std::vector<LogSegment> segments_;
};

using LogMap = std::map<std::pair<int, int>, SegmentSet>;  // (attempt, rank)

// Every segment of the job (or of one attempt, one rank of it; -1 = all). Keys that are no segments
// are ignored. A listing is not of one moment: while segments are being merged it may show neither
// the merged one nor all of its parts; who finds a gap lists again.
Result<LogMap> ListLogSegments(ObjectStore& store, const std::string& job, int attempt = -1,
                               int rank = -1);

// One past the last line of (attempt, rank) in the store; 1 when there is none.
Result<int64_t> StoredLogEnd(ObjectStore& store, const std::string& job, int attempt, int rank);

}  // namespace stoker
