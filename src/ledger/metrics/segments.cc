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

// Takes the head of each segment, and its series.
struct Visit {
  std::function<void(int attempt, MetricHead head)> head;
  std::function<void(int attempt, const MetricSeries& series)> series;
  std::function<void(const std::string&)> trouble;
};

// kNotFound: it has been merged meanwhile.
Status VisitSegment(ObjectStore& store, const LogSegment& segment, const Visit& visit) {
  STOKER_ASSIGN(Object object, store.Get(segment.key));
  MetricLines lines(std::move(object.data));
  STOKER_ASSIGN(const auto line, lines.Next());
  if (!line) return Status(Code::kCorrupt, "is empty");
  STOKER_ASSIGN(MetricHead head, DecodeMetricHead(*line));
  visit.head(segment.attempt, std::move(head));
  for (;;) {
    STOKER_ASSIGN(const auto next, lines.Next());
    if (!next) return Status::Ok();
    STOKER_ASSIGN(const MetricSeries series, DecodeMetricSeries(*next));
    visit.series(segment.attempt, series);
  }
}

Status VisitAttempt(ObjectStore& store, const SegmentSet& set, const Visit& visit) {
  for (int64_t at = 1; at < set.end();) {
    const LogSegment* segment = set.Covering(at);
    // Of a larger one that holds what has been read already nothing is to be had twice.
    if (segment == nullptr || segment->first != at) {
      const LogSegment* next = set.After(at);
      if (segment == nullptr && next == nullptr) break;
      visit.trouble("metrics are missing before " + (next ? next->key : segment->key));
      at = next != nullptr ? next->first : segment->end();
      continue;
    }
    const Status visited = VisitSegment(store, *segment, visit);
    if (visited.Is(Code::kCorrupt) || visited.Is(Code::kTooNew)) {
      visit.trouble(segment->key + ": " + visited.message());
    } else {
      STOKER_TRY(visited);
    }
    at = segment->end();
  }
  return Status::Ok();
}

using AttemptParts = std::vector<metrics::AttemptPart>;

void AddSeries(int attempt, const MetricSeries& series, AttemptParts* parts) {
  if (parts->empty() || parts->back().attempt != attempt) {
    parts->emplace_back();
    parts->back().attempt = attempt;
  }
  metrics::AttemptPart& part = parts->back();
  part.ordered |= series.ordered;
  part.by_epoch |= series.by_epoch;
  part.source = series.source;
  part.entries.insert(part.entries.end(), series.entries.begin(), series.entries.end());
  if (part.entries.size() > 8 * metrics::kBuckets) metrics::Thin(&part.entries);
}

// Of each name the source that counts; older segments have some without one, which go with it.
void ChooseSources(std::map<SeriesKey, AttemptParts> all, const metrics::SourceChoice& choice,
                   RunMetrics* run) {
  for (auto& [key, parts] : all) {
    if (parts.empty() || !choice.Counts(key.first, key.second)) continue;
    AttemptParts& chosen = run->series[key.first];
    for (metrics::AttemptPart& part : parts) {
      const auto same = std::find_if(chosen.begin(), chosen.end(),
                                     [&](const auto& one) { return one.attempt == part.attempt; });
      if (same == chosen.end()) {
        chosen.push_back(std::move(part));
        continue;
      }
      part.entries.insert(part.entries.begin(), same->entries.begin(), same->entries.end());
      *same = std::move(part);
    }
    std::sort(chosen.begin(), chosen.end(),
              [](const auto& a, const auto& b) { return a.attempt < b.attempt; });
  }
}

std::optional<int64_t> BeginOf(const std::map<std::string, SourceBegin>& begins,
                               const std::string& source, bool by_epoch) {
  const auto found = begins.find(source);
  if (source.empty() || found == begins.end()) return std::nullopt;
  return by_epoch ? found->second.epoch : found->second.step;
}

// Each attempt has a part of each series that an earlier one has: what it threw away is known also
// where it has given nothing itself.
void AddBegins(RunMetrics* run) {
  for (auto& [name, parts] : run->series) {
    std::vector<metrics::AttemptPart> all;
    std::string source;
    bool by_epoch = false;
    for (const auto& [attempt, head] : run->heads) {
      const auto part = std::find_if(parts.begin(), parts.end(),
                                     [n = attempt](const auto& one) { return one.attempt == n; });
      if (part == parts.end() && all.empty()) continue;
      all.push_back(part != parts.end() ? std::move(*part) : metrics::AttemptPart{});
      metrics::AttemptPart& one = all.back();
      one.attempt = attempt;
      if (part != parts.end()) {
        by_epoch = one.by_epoch;
        if (!one.source.empty()) source = one.source;
      }
      one.begin = BeginOf(head.begins, source, by_epoch);
      one.resumed = head.resumed;
    }
    parts = std::move(all);
  }
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
    Visit visit;
    std::map<SeriesKey, AttemptParts> all;
    metrics::SourceChoice choice;
    visit.head = [&](int attempt, MetricHead head) { run.heads[attempt] = std::move(head); };
    visit.series = [&](int attempt, const MetricSeries& series) {
      AttemptParts& parts = all[{series.name, series.source}];
      choice.Add(series.name, series.source, !series.ordered);
      if (!wanted || wanted(series.name)) AddSeries(attempt, series, &parts);
    };
    visit.trouble = [&](const std::string& what) { run.troubles.push_back(what); };
    STOKER_ASSIGN(const LogMap map, ListMetricSegments(store, job, -1, rank));
    Status status;
    for (const auto& [place, set] : map) {  // by attempt
      if (status.ok()) status = VisitAttempt(store, set, visit);
    }
    if (status.Is(Code::kNotFound)) continue;
    STOKER_TRY(status);
    ChooseSources(std::move(all), choice, &run);
    AddBegins(&run);
    return run;
  }
  return Status(Code::kBusy, "the metrics of job " + job + " change faster than they can be read");
}

namespace {

// What attempts before `now` have of a series, as it is read, and what of that was thrown away by
// them and by `now`.
using TakeEarlier = std::function<void(const MetricSeries& series, const metrics::Cut& cut)>;

// kNotFound: segments became others meanwhile.
Status VisitEarlier(ObjectStore& store, const std::string& job, const MetricHead& now,
                    const TakeEarlier& take) {
  STOKER_ASSIGN(const LogMap map, ListMetricSegments(store, job, -1, now.rank));
  std::map<int, MetricHead> heads = {{now.attempt, now}};
  Visit visit;
  visit.head = [](int, const MetricHead&) {};
  visit.trouble = [](const std::string&) {};  // who reads the curves is told
  visit.series = [&](int attempt, const MetricSeries& series) {
    metrics::Cut cut;
    for (auto later = heads.upper_bound(attempt); later != heads.end(); ++later) {
      const auto begin = BeginOf(later->second.begins, series.source, series.by_epoch);
      if (begin) cut.Begin(*begin);
      cut.Resume(later->second.resumed);
    }
    take(series, cut);
  };
  const auto earlier = [&](const auto& place, const SegmentSet& set) {
    return place.first < now.attempt && set.end() > 1;
  };
  for (const auto& [place, set] : map) {
    if (!earlier(place, set)) continue;
    auto head = ReadHead(store, set.Covering(set.end() - 1)->key);
    const Status status = head.status();
    if (status.transient() || status.Is(Code::kNotFound)) return status;
    if (head.ok()) heads[place.first] = std::move(*head);
  }
  for (const auto& [place, set] : map) {
    if (earlier(place, set)) STOKER_TRY(VisitAttempt(store, set, visit));
  }
  return Status::Ok();
}

Status ChangesTooFast(const std::string& job) {
  return Status(Code::kBusy, "the metrics of job " + job + " change faster than they can be read");
}

}  // namespace

Result<MetricTotals::Series> ReadEarlierTotals(ObjectStore& store, const std::string& job,
                                               const MetricHead& now,
                                               const metrics::SourceChoice& sources) {
  for (int look = 0; look < kLooks; ++look) {
    std::map<SeriesKey, metrics::Totals> every;
    metrics::SourceChoice choice = sources;
    const Status status =
        VisitEarlier(store, job, now, [&](const MetricSeries& series, const metrics::Cut& cut) {
          for (const metrics::Entry& entry : series.entries) {
            if (!cut.Voids(series.ordered, entry)) every[{series.name, series.source}].Add(entry);
          }
          choice.Add(series.name, series.source, !series.ordered);
        });
    if (status.Is(Code::kNotFound)) continue;
    STOKER_TRY(status);
    MetricTotals::Series totals;
    for (const auto& [key, each_source] : every) {
      if (choice.Counts(key.first, key.second)) totals[key.first].Add(each_source);
    }
    return totals;
  }
  return ChangesTooFast(job);
}

Result<std::map<std::string, int64_t>> ReadLastSteps(ObjectStore& store, const std::string& job,
                                                     const MetricHead& now) {
  // Times of files are those of the kernel's last tick.
  constexpr int64_t kTickMs = 10;
  const int64_t saved = now.resumed + kTickMs;
  for (int look = 0; look < kLooks; ++look) {
    std::map<std::string, int64_t> last;
    const Status status =
        VisitEarlier(store, job, now, [&](const MetricSeries& series, const metrics::Cut& cut) {
          if (series.ordered || series.by_epoch) return;
          for (const metrics::Entry& entry : series.entries) {
            if (cut.Voids(false, entry) || entry.first_time.ms > saved) continue;
            const bool whole = entry.last_time.ms <= saved;
            int64_t& step = last.try_emplace(series.source, 0).first->second;
            step = std::max(step, whole ? entry.last_step : entry.first_step);
          }
        });
    if (status.Is(Code::kNotFound)) continue;
    STOKER_TRY(status);
    return last;
  }
  return ChangesTooFast(job);
}

}  // namespace stoker
