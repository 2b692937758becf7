// SPDX-License-Identifier: Apache-2.0
#include "ledger/log/log_segments.h"

#include <algorithm>

#include "ledger/paths.h"

namespace stoker {
namespace {

bool Before(const LogSegment& a, const LogSegment& b) {
  return a.first != b.first ? a.first < b.first : a.lines > b.lines;
}

}  // namespace

void SegmentSet::Add(LogSegment segment) {
  auto at = std::lower_bound(segments_.begin(), segments_.end(), segment, Before);
  if (at != segments_.end() && at->key == segment.key) {
    *at = std::move(segment);
  } else {
    segments_.insert(at, std::move(segment));
  }
}

void SegmentSet::Remove(const std::string& key) {
  std::erase_if(segments_, [&key](const LogSegment& s) { return s.key == key; });
}

const LogSegment* SegmentSet::Covering(int64_t line, const std::set<std::string>& skip) const {
  const LogSegment* best = nullptr;
  for (const LogSegment& s : segments_) {
    if (s.first > line) break;
    if (s.end() <= line || skip.count(s.key) != 0) continue;
    if (best == nullptr || s.end() > best->end()) best = &s;
  }
  return best;
}

const LogSegment* SegmentSet::After(int64_t line, const std::set<std::string>& skip) const {
  for (const LogSegment& s : segments_) {
    if (s.first > line && skip.count(s.key) == 0) return &s;
  }
  return nullptr;
}

int64_t SegmentSet::end() const {
  int64_t end = 1;
  for (const LogSegment& s : segments_) end = std::max(end, s.end());
  return end;
}

std::vector<LogSegment> SegmentSet::Covered() const {
  std::vector<LogSegment> covered;
  int64_t reached = 1;
  for (const LogSegment& s : segments_) {
    // One earlier in the order begins no later; when it also reaches as far, it holds all of s.
    if (s.end() <= reached) covered.push_back(s);
    reached = std::max(reached, s.end());
  }
  return covered;
}

Result<LogMap> ListLogSegments(ObjectStore& store, const std::string& job, int attempt, int rank) {
  std::string prefix = paths::Logs(job);
  if (attempt >= 0) prefix += std::to_string(attempt) + "-";
  if (attempt >= 0 && rank >= 0) prefix = paths::Log(job, attempt, rank);
  LogMap map;
  STOKER_TRY(ListAll(store, prefix, [&](const ObjectInfo& info) {
               std::optional<LogSegment> segment = ParseSegmentKey(job, info.key);
               if (!segment || (rank >= 0 && segment->rank != rank)) return Status::Ok();
               segment->size = info.size;
               segment->last_modified = info.last_modified;
               SegmentSet& set = map[{segment->attempt, segment->rank}];
               set.Add(std::move(*segment));
               return Status::Ok();
             }).WithContext("list the log of job " + job));
  return map;
}

Result<int64_t> StoredLogEnd(ObjectStore& store, const std::string& job, int attempt, int rank) {
  STOKER_ASSIGN(LogMap map, ListLogSegments(store, job, attempt, rank));
  return map[{attempt, rank}].end();
}

}  // namespace stoker
