// SPDX-License-Identifier: Apache-2.0
#include "ledger/log/log_reader.h"

#include <algorithm>
#include <charconv>

#include "base/text.h"
#include "ledger/segments/read_again.h"

namespace stoker {
namespace {

constexpr size_t kBatchBytes = 1 << 20;
constexpr size_t kBatchRecords = 20'000;
// A segment that vanished between listing and reading was merged; more often than this in one call
// means that something else is wrong.
constexpr int kMaxVanished = 20;
// No two clocks are compared to decide anything; this only spares downloads when the store's date
// of a segment is so much older than --since that no sane clock could make it matter.
constexpr Duration kSinceMargin = Duration::Hours(24);

bool TakeNumber(std::string_view& text, int64_t low, int64_t* out) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *out);
  if (error != std::errc() || *out < low || *out > kMaxLogLine) return false;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return true;
}

bool TakeChar(std::string_view& text, char c) {
  if (text.empty() || text[0] != c) return false;
  text.remove_prefix(1);
  return true;
}

// Lines [from, end).
std::string MissingText(std::pair<int, int> id, int64_t from, int64_t end) {
  const std::string lines =
      end - from == 1 ? "line " + std::to_string(from) + " is"
                      : "lines " + std::to_string(from) + "-" + std::to_string(end - 1) + " are";
  return "stoker: " + lines + " missing from the log of attempt " + std::to_string(id.first) +
         ", node " + std::to_string(id.second);
}

std::string LastLinesText(std::pair<int, int> id) {
  return "stoker: the last lines of attempt " + std::to_string(id.first) + ", node " +
         std::to_string(id.second) + " may be missing: it was gone before it could say that all " +
         "were saved";
}

}  // namespace

LogReader::LogReader(ObjectStore& store, std::string job, LogFilter filter)
    : store_(store), job_(std::move(job)), filter_(std::move(filter)) {}

Result<std::unique_ptr<LogReader>> LogReader::Open(ObjectStore& store, const std::string& job,
                                                   const LogFilter& filter,
                                                   const std::string& cursor) {
  std::unique_ptr<LogReader> reader(new LogReader(store, job, filter));
  if (cursor.empty()) return reader;
  for (const std::string& part : Split(cursor, ' ')) {
    std::string_view rest = part;
    int64_t attempt = 0;
    int64_t rank = 0;
    int64_t next = 0;
    if (!TakeNumber(rest, 1, &attempt) || !TakeChar(rest, '.') || !TakeNumber(rest, 0, &rank) ||
        !TakeChar(rest, ':') || !TakeNumber(rest, 1, &next) || !rest.empty() ||
        attempt > 1'000'000'000 || rank > 1'000'000'000) {
      return Status(Code::kInvalid, "not a place in a log: '" + Printable(part) + "'");
    }
    reader->sources_[{static_cast<int>(attempt), static_cast<int>(rank)}].next = next;
  }
  return reader;
}

std::string LogReader::Cursor() const {
  std::string cursor;
  for (const auto& [id, source] : sources_) {
    if (!cursor.empty()) cursor += ' ';
    cursor += std::to_string(id.first) + "." + std::to_string(id.second) + ":" +
              std::to_string(source.next);
  }
  return cursor;
}

Status LogReader::Refresh() {
  STOKER_ASSIGN(LogMap map, ListLogSegments(store_, job_, filter_.attempt.value_or(-1),
                                            filter_.rank.value_or(-1)));
  for (auto& [id, source] : sources_) source.segments = {};
  for (auto& [id, set] : map) sources_[id].segments = std::move(set);
  if (!listed_ && filter_.tail > 0) ApplyTail();
  listed_ = true;
  return Status::Ok();
}

void LogReader::ApplyTail() {
  if (sources_.empty()) return;
  int attempt = sources_.rbegin()->first.first;
  int64_t left = filter_.tail;  // of the attempt that is looked at; its nodes have as many each
  int64_t longest = 0;
  for (auto it = sources_.rbegin(); it != sources_.rend(); ++it) {
    auto& [id, source] = *it;
    if (id.first != attempt) {
      attempt = id.first;
      left = filter_.tail_of_all ? std::max<int64_t>(0, left - longest) : 0;
      longest = 0;
    }
    const int64_t end = source.segments.end();
    longest = std::max(longest, end - 1);
    source.next = std::max(source.next, end - left);
  }
}

bool LogReader::SkipBySince(const LogSegment& segment) const {
  return filter_.since && segment.last_modified.ms > 0 &&
         segment.last_modified + kSinceMargin < *filter_.since;
}

bool LogReader::Wanted(const RecordView& view) const {
  if (filter_.stream && view.stream != *filter_.stream) return false;
  return !filter_.since || view.time >= *filter_.since;
}

// Reads on in the open segment until there is a head or the segment is spent.
Status LogReader::FillFromOpen(Id id, Source& source) {
  while (!source.head) {
    Result<std::optional<RecordView>> record = source.open->Next();
    if (!record.ok() && record.code() != Code::kCorrupt) return record.status();
    if (!record.ok() && source.doubted.insert(source.open_key).second) {
      // Once more, from its beginning: it may have been damaged on the way.
      Pause(store_, PauseBeforeRead(2));
      source.open.reset();
      return Status::Ok();
    }
    if (!record.ok()) {
      source.bad.insert(source.open_key);
      source.why_bad = "segment " + source.open_key + " " + record.status().message();
    }
    if (!record.ok() || !record.value()) {
      source.open.reset();
      return Status::Ok();
    }
    const RecordView& view = **record;
    int64_t line = source.open_line++;
    if (line < source.next) continue;
    source.last_time = view.time;
    if (!Wanted(view)) {
      source.next = line + 1;
      continue;
    }
    source.head = LogRecord{id.first,    id.second,      line,  view.time,
                            view.stream, view.continues, false, std::string(view.text)};
    source.head_end = line + 1;
  }
  return Status::Ok();
}

// kNotFound when it has been merged away since the listing.
Status LogReader::OpenSegment(Source& source, const LogSegment& segment) {
  if (SkipBySince(segment)) {
    source.next = segment.end();
    return Status::Ok();
  }
  source.open_key = segment.key;
  source.open_line = segment.first;
  if (segment.size > kMaxSegmentObject) {
    source.bad.insert(segment.key);
    source.why_bad = "segment " + segment.key + " is larger than any segment";
    return Status::Ok();
  }
  Result<Object> object = store_.Get(segment.key);
  if (!object.ok()) return object.status().WithContext("read " + segment.key);
  source.open = std::make_unique<SegmentDecoder>(std::move(object.value().data), segment.lines);
  return Status::Ok();
}

// No readable segment holds source.next. Lists once more, because a listing may fall between the
// two halves of a merge; then says what is missing, or that there is nothing more.
Status LogReader::MeetGap(Id id, Source& source, bool* relisted) {
  const LogSegment* after = source.segments.After(source.next, source.bad);
  int64_t end = after != nullptr ? after->first : source.segments.end();
  if (end <= source.next) return Status::Ok();
  if (!source.gap_seen) {
    source.gap_seen = true;
    *relisted = true;
    return Refresh();
  }
  source.gap_seen = false;
  std::string text = MissingText(id, source.next, end);
  if (!source.why_bad.empty()) text += " (" + source.why_bad + ")";
  source.why_bad.clear();
  source.head = LogRecord{id.first,           id.second, source.next, source.last_time,
                          LogStream::kSystem, false,     true,        text};
  source.head_end = end;
  return Status::Ok();
}

Status LogReader::Fill(Id id, Source& source) {
  int vanished = 0;
  while (!source.head) {
    if (source.open) {
      STOKER_TRY(FillFromOpen(id, source));
      continue;
    }
    const LogSegment* segment = source.segments.Covering(source.next, source.bad);
    if (segment == nullptr) {
      bool relisted = false;
      STOKER_TRY(MeetGap(id, source, &relisted));
      if (!relisted) return Status::Ok();
      continue;
    }
    source.gap_seen = false;
    Status opened = OpenSegment(source, *segment);
    if (opened.Is(Code::kNotFound) && ++vanished <= kMaxVanished) {
      STOKER_TRY(Refresh());
      continue;
    }
    STOKER_TRY(opened);
  }
  return Status::Ok();
}

std::vector<LogRecord> LogReader::MissingAtEnd(
    const std::map<std::pair<int, int>, Counted>& counted) const {
  std::vector<LogRecord> notes;
  for (const auto& [id, said] : counted) {
    if ((filter_.attempt && *filter_.attempt != id.first) ||
        (filter_.rank && *filter_.rank != id.second)) {
      continue;
    }
    const auto source = sources_.find(id);
    const int64_t end = source == sources_.end() ? 1 : source->second.segments.end();
    if (end > said.lines && said.all) continue;
    LogRecord note;
    note.attempt = id.first;
    note.rank = id.second;
    note.line = end;
    note.stream = LogStream::kSystem;
    note.note = true;
    note.text = end > said.lines ? LastLinesText(id)
                                 : MissingText(id, end, said.lines + 1) + ": its node counted " +
                                       std::to_string(said.lines);
    notes.push_back(std::move(note));
  }
  return notes;
}

Result<std::vector<LogRecord>> LogReader::Next() {
  std::vector<LogRecord> batch;
  size_t bytes = 0;
  bool refreshed = false;
  while (bytes < kBatchBytes && batch.size() < kBatchRecords) {
    Source* best = nullptr;
    int attempt = 0;
    for (auto& [id, source] : sources_) {
      if (best != nullptr && id.first != attempt) break;  // the map is ordered by attempt
      Status filled = Fill(id, source);
      if (!filled.ok()) {
        if (batch.empty()) return filled;
        return batch;  // the failure is met again by the next call
      }
      if (!source.head) continue;
      if (best == nullptr || source.head->time < best->head->time) best = &source;
      attempt = id.first;
    }
    if (best == nullptr) {
      if (refreshed || !batch.empty()) break;
      STOKER_TRY(Refresh());
      refreshed = true;
      continue;
    }
    best->next = best->head_end;
    bytes += best->head->text.size() + 64;
    batch.push_back(std::move(*best->head));
    best->head.reset();
  }
  return batch;
}

}  // namespace stoker
