// SPDX-License-Identifier: Apache-2.0
#include "ledger/index.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "base/deliberate_bug.h"
#include "base/text.h"
#include "ledger/paths.h"
#include "ledger/records.h"
#include "ledger/segments/segments.h"

namespace stoker {
namespace {

// A segment this large is not merged again, so that appending a line never costs a rewrite of
// everything: about four thousand jobs.
constexpr int64_t kFullSegment = 1 << 20;
constexpr size_t kLinesOfRebuild = 4000;

// What its metrics came to; of one that cannot be read, as it is damaged, the line has none.
Result<Summary> WithMetrics(Ledger& ledger, const Job& job) {
  Summary summary = SummaryOf(job);
  if (!summary.started) return summary;
  const auto totals = ReadMetricTotals(ledger.store(), job.id);
  if (totals.status().transient()) return totals.status();
  if (totals.ok()) summary.metrics = SummaryMetricsOf(*totals);
  return summary;
}

// As the index would have it, for a job that has just ended; what runs has no metrics there.
Summary Line(Ledger& ledger, const Job& job) {
  if (!IsFinal(job.state)) return SummaryOf(job);
  auto line = WithMetrics(ledger, job);
  return line.ok() ? std::move(*line) : SummaryOf(job);
}

// Leaves out all but the line of the highest revision of each job.
void LeaveOutOld(std::vector<Summary>* lines) {
  std::unordered_map<std::string_view, size_t> best;
  best.reserve(lines->size());
  for (size_t i = 0; i < lines->size(); ++i) {
    const auto [at, fresh] = best.emplace((*lines)[i].id, i);
    if (!fresh && (*lines)[at->second].rev < (*lines)[i].rev) at->second = i;
  }
  if (best.size() == lines->size()) return;
  std::vector<size_t> kept;
  kept.reserve(best.size());
  for (const auto& [id, i] : best) kept.push_back(i);
  std::sort(kept.begin(), kept.end());
  for (size_t i = 0; i < kept.size(); ++i) {
    if (kept[i] != i) (*lines)[i] = std::move((*lines)[kept[i]]);
  }
  lines->resize(kept.size());
}

// In place, each line moved once to where it belongs: ten thousand lines are megabytes, and as long
// as it takes to get these from the kernel `ls` waits.
void NewestFirst(std::vector<Summary>* lines) {
  std::vector<std::pair<WallTime, size_t>> order;
  order.reserve(lines->size());
  for (size_t i = 0; i < lines->size(); ++i) order.emplace_back((*lines)[i].created, i);
  std::sort(order.begin(), order.end(), [&](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : (*lines)[a.second].id < (*lines)[b.second].id;
  });
  for (size_t i = 0; i < order.size(); ++i) {
    if (order[i].second == i) continue;
    Summary first = std::move((*lines)[i]);
    size_t to = i;
    for (size_t from = order[to].second; from != i; from = order[to].second) {
      (*lines)[to] = std::move((*lines)[from]);
      order[to].second = to;
      to = from;
    }
    (*lines)[to] = std::move(first);
    order[to].second = to;
  }
}

// One line a job, that of the highest revision, newest job first.
void KeepHighest(std::vector<Summary>* lines) {
  LeaveOutOld(lines);
  NewestFirst(lines);
}

using Folder = SegmentFolder<Summary>;

Folder Segments(Ledger& ledger) {
  return {
      ledger.store(), ledger.cache(), paths::Index(), {EncodeSegment, DecodeSegment, KeepHighest}};
}

Status WriteSegment(Ledger& ledger, const std::vector<Summary>& lines) {
  return Segments(ledger).Write(ledger.Nonce(), lines);
}

Result<std::vector<std::string>> RecordIds(Ledger& ledger) {
  std::vector<std::string> ids;
  STOKER_ASSIGN(const std::vector<std::string> keys, ledger.store().ListKeys(paths::Records()));
  for (const std::string& key : keys) {
    std::string id = key.substr(paths::Records().size());
    if (!EndsWith(id, ".json")) continue;
    id.resize(id.size() - 5);
    if (IsSafeName(id)) ids.push_back(std::move(id));
  }
  return ids;
}

// Whether ended jobs have records although the index is empty. Jobs leave active/ only after they
// are in the index.
Result<bool> LooksLost(Ledger& ledger) {
  STOKER_ASSIGN(const std::vector<std::string> records, RecordIds(ledger));
  if (records.empty()) return false;
  STOKER_ASSIGN(const std::vector<std::string> active, ActiveJobs(ledger));
  const std::set<std::string> known(active.begin(), active.end());
  return std::any_of(records.begin(), records.end(),
                     [&](const std::string& id) { return !known.contains(id); });
}

struct FromRecords {
  size_t lines = 0;
  std::set<std::string> unreadable;  // jobs whose record is damaged, or from a newer stoker
};

// Writes all ended jobs' lines.
Result<FromRecords> WriteFromRecords(Ledger& ledger, std::vector<std::string>* warnings) {
  STOKER_ASSIGN(const std::vector<std::string> ids, RecordIds(ledger));
  std::vector<Summary> lines;
  FromRecords result;
  for (const std::string& id : ids) {
    const auto read = ReadJob(ledger, id);
    if (!read.ok()) {
      if (read.status().transient()) return read.status();
      if (read.status().Is(Code::kNotFound)) continue;
      warnings->push_back(read.status().ToString());
      result.unreadable.insert(id);
      continue;
    }
    if (!IsFinal(read->job.state)) continue;
    ++result.lines;
    STOKER_ASSIGN(Summary line, WithMetrics(ledger, read->job));
    lines.push_back(std::move(line));
    if (lines.size() < kLinesOfRebuild) continue;
    STOKER_TRY(WriteSegment(ledger, lines));
    lines.clear();
  }
  if (!lines.empty()) STOKER_TRY(WriteSegment(ledger, lines));
  return result;
}

// A job that has neither a line in the index nor a record that can be read is active again: lists
// name it, and whoever reconciles retires it once its record is back. Without this, a record that
// was damaged together with its segment would be left out for ever.
Status KeepInSight(Ledger& ledger, const std::set<std::string>& unreadable,
                   const std::vector<Summary>& lines) {
  std::set<std::string> hidden = unreadable;
  for (const Summary& line : lines) hidden.erase(line.id);
  for (const std::string& id : hidden) {
    const auto put = ledger.store().Put(paths::Active(id), "");
    if (!put.ok()) return put.status().WithContext("marking " + id + " as active");
  }
  return Status::Ok();
}

}  // namespace

Result<MetricTotals> ReadMetricTotals(ObjectStore& store, const std::string& job) {
  const std::string key = paths::MetricTotals(job);
  const auto object = store.Get(key);
  if (object.status().Is(Code::kNotFound)) return MetricTotals();
  STOKER_TRY(object.status());
  return DecodeMetricTotals(key, object->data);
}

Status AppendSummary(Ledger& ledger, const Job& job) {
  STOKER_ASSIGN(const Summary line, WithMetrics(ledger, job));
  STOKER_TRY(WriteSegment(ledger, {line}));
  // The line is safe; merging is upkeep that whoever comes next can do as well.
  (void)MergeIndex(ledger);
  return Status::Ok();
}

Status MergeIndex(Ledger& ledger, int at_least) {
  return Segments(ledger).Merge(ledger.Nonce(), at_least, kFullSegment);
}

Status RebuildIndex(Ledger& ledger) {
  // Only segments that were there before the records are read may go: an ended job's line that
  // comes meanwhile is in none of the new ones.
  Folder segments = Segments(ledger);
  STOKER_ASSIGN(Folder::Found old, segments.ReadAll());
  std::vector<std::string> warnings;
  STOKER_ASSIGN(const FromRecords written, WriteFromRecords(ledger, &warnings));
  // Of a job whose record cannot be read now, the line is all that there is.
  std::erase_if(old.lines,
                [&](const Summary& line) { return !written.unreadable.contains(line.id); });
  KeepHighest(&old.lines);
  if (!old.lines.empty()) STOKER_TRY(WriteSegment(ledger, old.lines));
  STOKER_TRY(KeepInSight(ledger, written.unreadable, old.lines));
  STOKER_TRY(segments.Remove(old.damaged));
  return segments.Remove(old.read);
}

namespace {

// What the index has, in no order, perhaps several lines of a job; made again where it is lost.
Result<JobList> ReadLines(Ledger& ledger) {
  Folder segments = Segments(ledger);
  STOKER_ASSIGN(Folder::Found found, segments.ReadAll());
  bool lost = !found.damaged.empty();
  if (found.read.empty() && !lost) {
    STOKER_ASSIGN(lost, LooksLost(ledger));
  }
  std::vector<std::string> warnings = std::move(found.warnings);
  if (lost) {
    const std::vector<std::string> damaged = found.damaged;
    auto written = WriteFromRecords(ledger, &warnings);
    if (written.ok()) {
      const Status kept = KeepInSight(ledger, written->unreadable, found.lines);
      if (!kept.ok()) written = kept;
    }
    // Read-only stores and full disks still get the list of what can be read.
    if (!written.ok()) {
      warnings.push_back("the index could not be made again: " + written.status().ToString());
      for (Summary& line : found.salvaged) found.lines.push_back(std::move(line));
    } else {
      if (written->lines > 0) {
        warnings.push_back("the index was made again from " + std::to_string(written->lines) +
                           " records");
      }
      (void)segments.Remove(damaged);
      STOKER_ASSIGN(found, segments.ReadAll());
    }
  }
  return JobList{std::move(found.lines), {}, std::move(warnings)};
}

}  // namespace

Result<JobList> ReadIndex(Ledger& ledger) {
  STOKER_ASSIGN(JobList list, ReadLines(ledger));
  KeepHighest(&list.jobs);
  return list;
}

LabelPlace Labelled(Ledger& ledger) { return {ledger.store(), ledger.labels_cache()}; }

Result<Labels> SaidOf(Ledger& ledger, const std::string& id) {
  STOKER_ASSIGN(AllLabels all, ReadLabels(Labelled(ledger)));
  return std::move(all.of[id]);
}

void AddLabels(const Labels& said, Summary* job) {
  auto all = std::make_shared<SaidOfJob>();
  all->tags = said.tags;
  all->note = said.note;
  if (!said.name.empty() && said.name != job->name) {
    all->first_name = job->name;
    job->name = said.name;
  }
  job->said = std::move(all);
}

Result<JobList> ListJobs(Ledger& ledger) {
  // First who is active: a job that ends meanwhile is in the index before it leaves there.
  STOKER_ASSIGN(const std::vector<std::string> active, ActiveJobs(ledger));
  std::vector<Summary> lines;
  std::vector<UnreadableJob> unreadable;
  for (const std::string& id : active) {
    const auto read = ReadJob(ledger, id);
    if (read.ok())
      lines.push_back(Line(ledger, read->job));
    else if (read.status().transient() && !BugIsOn("unread-is-left-out"))
      return read.status();
    else if (!read.status().Is(Code::kNotFound))
      unreadable.push_back({id, read.status()});
  }
  STOKER_ASSIGN(JobList list, ReadLines(ledger));
  for (Summary& line : lines) list.jobs.push_back(std::move(line));
  KeepHighest(&list.jobs);
  STOKER_ASSIGN(AllLabels labels, ReadLabels(Labelled(ledger)));
  for (std::string& warning : labels.warnings) list.warnings.push_back(std::move(warning));
  for (auto job = list.jobs.begin(); job != list.jobs.end() && !labels.of.empty(); ++job) {
    const auto said = labels.of.find(job->id);
    if (said != labels.of.end()) AddLabels(said->second, &*job);
  }
  for (UnreadableJob& job : unreadable) {
    const bool has_line = std::any_of(list.jobs.begin(), list.jobs.end(),
                                      [&](const Summary& line) { return line.id == job.id; });
    list.warnings.push_back(job.why.ToString());
    if (!has_line) list.unreadable.push_back(std::move(job));
  }
  return list;
}

Result<std::vector<std::string>> FindHidden(Ledger& ledger, JobList* list, bool dry_run) {
  // In this order: see the header.
  STOKER_ASSIGN(const std::vector<std::string> records, RecordIds(ledger));
  STOKER_ASSIGN(*list, ListJobs(ledger));
  std::unordered_set<std::string> known;
  for (const Summary& job : list->jobs) known.insert(job.id);
  for (const UnreadableJob& job : list->unreadable) known.insert(job.id);
  std::vector<std::string> hidden;
  for (const std::string& id : records) {
    // A record of the list may be gone by now, and so may its job.
    if (known.contains(id) || ledger.store().Head(paths::Record(id)).status().Is(Code::kNotFound)) {
      continue;
    }
    hidden.push_back(id);
    if (dry_run) continue;
    const auto put = ledger.store().Put(paths::Active(id), "");
    if (!put.ok()) return put.status().WithContext("marking " + id + " as active");
  }
  return hidden;
}

}  // namespace stoker
