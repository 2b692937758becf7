// SPDX-License-Identifier: Apache-2.0
#include "ledger/metrics/segments.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "ledger/metrics/lines.h"
#include "ledger/metrics/merge.h"
#include "ledger/paths.h"

namespace stoker {
namespace {

constexpr int kLooks = 10;

// nullopt: what lies there is none.
std::optional<LogSegment> ParseKey(const std::string& job, const std::string& key) {
  const std::string prefix = paths::AllMetrics(job);
  if (!StartsWith(key, prefix) || !EndsWith(key, ".zst")) return std::nullopt;
  const auto parts = Split(key.substr(prefix.size(), key.size() - prefix.size() - 4), '/');
  if (parts.size() != 2) return std::nullopt;
  const auto place = Split(parts[0], '-');
  const auto range = Split(parts[1], '-');
  if (place.size() != 2 || range.size() != 2 || range[0].size() != 12) return std::nullopt;
  const auto attempt = WholeNumber(place[0], 0, INT32_MAX);
  const auto rank = WholeNumber(place[1], 0, INT32_MAX);
  const size_t digits = range[0].find_first_not_of('0');
  if (digits == std::string::npos) return std::nullopt;
  const auto first = WholeNumber(range[0].substr(digits), 1, kMaxLogLine);
  const auto flushes = WholeNumber(range[1], 1, kMaxLogLine);
  if (!attempt || !rank || !first || !flushes) return std::nullopt;
  LogSegment segment;
  segment.key = key;
  segment.attempt = static_cast<int>(*attempt);
  segment.rank = static_cast<int>(*rank);
  segment.first = *first;
  segment.lines = *flushes;
  return segment;
}

LogSegment SegmentOf(const std::string& key, int attempt, int rank, int64_t first, int64_t count) {
  LogSegment segment;
  segment.key = key;
  segment.attempt = attempt;
  segment.rank = rank;
  segment.first = first;
  segment.lines = count;
  return segment;
}

Result<MetricHead> ReadHead(ObjectStore& store, const std::string& key) {
  STOKER_ASSIGN(Object object, store.Get(key));
  MetricLines lines(std::move(object.data));
  STOKER_ASSIGN(const auto line, lines.Next());
  if (!line) return Status(Code::kCorrupt, key + ": is empty");
  return DecodeMetricHead(*line);
}

}  // namespace

std::string MetricSegmentKey(const std::string& job, int attempt, int rank, int64_t first,
                             int64_t flushes) {
  return paths::Metrics(job, attempt, rank) + Padded(first, 12) + "-" + std::to_string(flushes) +
         ".zst";
}

Result<LogMap> ListMetricSegments(ObjectStore& store, const std::string& job, int attempt,
                                  int rank) {
  const bool one = attempt >= 0 && rank >= 0;
  const std::string prefix = one ? paths::Metrics(job, attempt, rank) : paths::AllMetrics(job);
  LogMap map;
  STOKER_TRY(ListAll(store, prefix, [&](const ObjectInfo& info) {
               std::optional<LogSegment> segment = ParseKey(job, info.key);
               if (!segment || (rank >= 0 && segment->rank != rank)) return Status::Ok();
               segment->size = info.size;
               SegmentSet& set = map[{segment->attempt, segment->rank}];
               set.Add(std::move(*segment));
               return Status::Ok();
             }).WithContext("list the metrics of job " + job));
  return map;
}

MetricWriter::MetricWriter(ObjectStore& store, std::string job, int attempt, int rank)
    : store_(store), job_(std::move(job)), attempt_(attempt), rank_(rank) {}

Result<std::optional<MetricHead>> MetricWriter::Begin() {
  pending_.clear();
  spent_.clear();
  STOKER_ASSIGN(LogMap map, ListMetricSegments(store_, job_, attempt_, rank_));
  segments_ = std::move(map[{attempt_, rank_}]);
  next_ = segments_.end();
  for (const LogSegment& small : segments_.Covered()) {
    segments_.Remove(small.key);
    spent_.push_back(small.key);
  }
  const LogSegment* last = next_ > 1 ? segments_.Covering(next_ - 1) : nullptr;
  if (last == nullptr) return std::optional<MetricHead>();
  STOKER_ASSIGN(MetricHead head, ReadHead(store_, last->key));
  return std::optional(std::move(head));
}

Status MetricWriter::Add(MetricHead head, const GiveSeries& give) {
  head.attempt = attempt_;
  head.rank = rank_;
  head.first = next_;
  head.flushes = 1;
  pending_.clear();
  const Status packed = PackMetrics(head, give, [this](std::string_view bytes) {
    pending_ += bytes;
    return Status::Ok();
  });
  if (!packed.ok()) pending_.clear();
  return packed;
}

Status MetricWriter::Send() {
  const std::string key = MetricSegmentKey(job_, attempt_, rank_, next_, 1);
  const auto put = store_.Put(key, pending_, Condition::Absent());
  if (!put.ok() && !put.status().Is(Code::kExists)) return put.status();
  if (!put.ok()) {
    // By our own try whose answer was lost, unless it holds something else.
    STOKER_ASSIGN(const Object there, store_.Get(key));
    if (there.data != pending_) return Status(Code::kConflict, "other metrics lie in " + key);
  }
  pending_.clear();
  segments_.Add(SegmentOf(key, attempt_, rank_, next_, 1));
  ++next_;
  return Status::Ok();
}

// The newest kMergeAt of one size in a row; empty while there are none.
std::vector<LogSegment> MetricWriter::Row() const {
  const std::vector<LogSegment>& all = segments_.segments();
  if (all.size() < kMergeAt || all[all.size() - kMergeAt].first < unmerged_) return {};
  std::vector<LogSegment> row(all.end() - kMergeAt, all.end());
  for (size_t i = 0; i < row.size(); ++i) {
    if (row[i].lines != row[0].lines || (i > 0 && row[i].first != row[i - 1].end())) return {};
  }
  return row;
}

// All are read side by side, and none of them is held: those of long runs are large.
Status MetricWriter::MergeRow(const std::vector<LogSegment>& row, const std::string& into) {
  std::vector<MergePart> parts;
  for (const LogSegment& segment : row) {
    STOKER_ASSIGN(std::shared_ptr<Download> from, store_.OpenDownload(segment.key));
    parts.push_back(
        {segment.key, [from](char* buffer, int64_t size) { return from->Read(buffer, size); }});
  }
  STOKER_ASSIGN(const auto upload, store_.BeginUpload(into, Condition::Absent()));
  STOKER_TRY(MergeMetricSegments(std::move(parts),
                                 [&](std::string_view bytes) { return upload->Write(bytes); }));
  const auto put = upload->Commit();
  // Whoever merged these before made the same of them.
  return put.status().Is(Code::kExists) ? Status::Ok() : put.status();
}

Status MetricWriter::Merge() {
  while (!spent_.empty()) {
    STOKER_TRY(store_.Delete(spent_.back()));
    spent_.pop_back();
  }
  // Merging them may make another such row.
  for (auto row = Row(); !row.empty(); row = Row()) {
    const int64_t flushes = row.back().end() - row[0].first;
    const std::string key = MetricSegmentKey(job_, attempt_, rank_, row[0].first, flushes);
    const Status merged = MergeRow(row, key);
    if (merged.Is(Code::kCorrupt) || merged.Is(Code::kTooNew)) unmerged_ = row.back().end();
    STOKER_TRY(merged);
    segments_.Add(SegmentOf(key, attempt_, rank_, row[0].first, flushes));
    for (const LogSegment& segment : row) {
      segments_.Remove(segment.key);
      spent_.push_back(segment.key);
    }
  }
  return Status::Ok();
}

namespace {

// kNotFound: it has been merged meanwhile.
Status AddSegment(ObjectStore& store, const LogSegment& segment,
                  const std::function<bool(const std::string&)>& wanted, RunMetrics* run) {
  STOKER_ASSIGN(Object object, store.Get(segment.key));
  MetricLines lines(std::move(object.data));
  STOKER_ASSIGN(const auto head, lines.Next());
  if (!head) return Status(Code::kCorrupt, "is empty");
  STOKER_ASSIGN(run->heads[segment.attempt], DecodeMetricHead(*head));
  for (;;) {
    STOKER_ASSIGN(const auto line, lines.Next());
    if (!line) return Status::Ok();
    STOKER_ASSIGN(MetricSeries series, DecodeMetricSeries(*line));
    if (wanted && !wanted(series.name)) continue;
    std::vector<metrics::AttemptPart>& parts = run->series[series.name];
    if (parts.empty() || parts.back().attempt != segment.attempt) {
      parts.push_back({segment.attempt, false, {}});
    }
    parts.back().ordered |= series.ordered;
    parts.back().by_epoch |= series.by_epoch;
    std::vector<metrics::Entry>& entries = parts.back().entries;
    entries.insert(entries.end(), series.entries.begin(), series.entries.end());
    if (entries.size() > 8 * metrics::kBuckets) metrics::Thin(&entries);
  }
}

Status AddAttempt(ObjectStore& store, const SegmentSet& set,
                  const std::function<bool(const std::string&)>& wanted, RunMetrics* run) {
  for (int64_t at = 1; at < set.end();) {
    const LogSegment* segment = set.Covering(at);
    // Of a larger one that holds what has been read already nothing is to be had twice.
    if (segment == nullptr || segment->first != at) {
      const LogSegment* next = set.After(at);
      if (segment == nullptr && next == nullptr) break;
      run->troubles.push_back("metrics are missing before " + (next ? next->key : segment->key));
      at = next != nullptr ? next->first : segment->end();
      continue;
    }
    const Status added = AddSegment(store, *segment, wanted, run);
    if (added.Is(Code::kCorrupt) || added.Is(Code::kTooNew)) {
      run->troubles.push_back(segment->key + ": " + added.message());
    } else {
      STOKER_TRY(added);
    }
    at = segment->end();
  }
  return Status::Ok();
}

}  // namespace

Result<std::optional<MetricHead>> ReadEarlierHead(ObjectStore& store, const std::string& job,
                                                  int rank, int before) {
  for (int look = 0; look < kLooks; ++look) {
    STOKER_ASSIGN(const LogMap map, ListMetricSegments(store, job, -1, rank));
    const LogSegment* last = nullptr;
    for (const auto& [place, set] : map) {  // by attempt
      if (place.first < before && set.end() > 1) last = set.Covering(set.end() - 1);
    }
    if (last == nullptr) return std::optional<MetricHead>();
    auto head = ReadHead(store, last->key);
    if (head.status().Is(Code::kNotFound)) continue;  // it has been merged meanwhile
    STOKER_TRY(head.status());
    return std::optional(std::move(*head));
  }
  return Status(Code::kBusy, "the metrics of job " + job + " change faster than they can be read");
}

Result<RunMetrics> ReadMetrics(ObjectStore& store, const std::string& job, int rank,
                               const std::function<bool(const std::string&)>& wanted) {
  for (int look = 0; look < kLooks; ++look) {
    RunMetrics run;
    STOKER_ASSIGN(const LogMap map, ListMetricSegments(store, job, -1, rank));
    Status status;
    for (const auto& [place, set] : map) {  // by attempt
      if (status.ok()) status = AddAttempt(store, set, wanted, &run);
    }
    if (status.Is(Code::kNotFound)) continue;
    STOKER_TRY(status);
    return run;
  }
  return Status(Code::kBusy, "the metrics of job " + job + " change faster than they can be read");
}

}  // namespace stoker
