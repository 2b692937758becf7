// SPDX-License-Identifier: Apache-2.0
#include "agent/mirror/log_mirror.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "agent/flush_policy.h"
#include "base/text.h"
#include "base/utf8.h"

namespace stoker {
namespace {

// After so many calls of which none was taken it is not this or that line that is wrong.
constexpr int kRefusedInARow = 8;
constexpr int kBatchesPerStep = 4;
// Nobody is told of a service that stumbles.
constexpr Duration kSayAfter = Duration::Seconds(20);
// What was taken is listed somewhat later.
constexpr Duration kListed = Duration::Seconds(5);
constexpr Duration kDeniedPause = Duration::Minutes(1);
constexpr std::string_view kNoCharacter = "\xEF\xBF\xBD";  // U+FFFD

std::string AsUtf8(std::string_view text) {
  std::string out;
  size_t kept = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t length = Utf8At(text, at);
    if (length > 0) {
      at += length;
      continue;
    }
    out.append(text.substr(kept, at - kept)).append(kNoCharacter);
    kept = ++at;
  }
  return out.append(text.substr(kept));
}

std::string Cursor(const LogPlace& place, int64_t line) {
  return std::to_string(place.attempt) + "." + std::to_string(place.rank) + ":" +
         std::to_string(line);
}

}  // namespace

CloudLine CloudLineOf(const LogRecord& record, WallTime after) {
  CloudLine line{record.line, std::max(record.time, after), record.stream, AsUtf8(record.text)};
  if (record.note) line.stream = LogStream::kSystem;
  if (line.text.empty()) line.text = " ";
  return line;
}

size_t CloudBatch(const std::deque<CloudLine>& lines, const CloudLogLimits& limits) {
  int64_t bytes = 0;
  size_t count = 0;
  for (const CloudLine& line : lines) {
    bytes += static_cast<int64_t>(line.text.size()) + limits.each;
    const bool more = count == limits.lines || bytes > limits.bytes ||
                      line.time - lines.front().time > limits.span;
    if (count > 0 && more) break;
    ++count;
  }
  return count;
}

std::string PrintMirrorPosition(const MirrorPosition& position) {
  return std::to_string(position.next) + " " + std::to_string(position.last.ms) + " " +
         std::to_string(position.sent) + "\n";
}

Result<MirrorPosition> ParseMirrorPosition(const std::string& text) {
  const std::vector<std::string> words = Split(text.substr(0, text.find('\n')), ' ');
  MirrorPosition position;
  const auto number = [&](size_t at, int64_t least, int64_t* out) {
    const auto value = at < words.size() ? WholeNumber(words[at], least, INT64_MAX) : std::nullopt;
    if (value) *out = *value;
    return value.has_value();
  };
  const bool good = words.size() == 3 && number(0, 1, &position.next) &&
                    number(1, 0, &position.last.ms) && number(2, 0, &position.sent);
  if (good) return position;
  return Status(Code::kCorrupt, "not a place in a log: " + Printable(text.substr(0, 100)));
}

LogMirror::LogMirror(ObjectStore& store, Clock& clock, LogPlace place, CloudLog& to,
                     MirrorMemory memory, std::function<void(const std::string&)> say)
    : store_(store),
      clock_(clock),
      place_(std::move(place)),
      to_(to),
      memory_(std::move(memory)),
      say_(std::move(say)),
      prng_(std::hash<std::string>()(place_.job) + static_cast<uint64_t>(place_.rank)) {}

std::optional<MonoTime> LogMirror::Step(int64_t end) {
  if (retry_at_ && clock_.Mono() < *retry_at_) return retry_at_;
  const auto more = Work(end);
  if (!more.ok()) {
    Failed(more.status());
    return retry_at_;
  }
  Recovered();
  return *more ? std::optional(clock_.Mono()) : std::nullopt;
}

void LogMirror::Hurry() {
  if (retry_at_)
    retry_at_ = std::min(*retry_at_, failed_at_ + (position_.sent > 0 ? kListed : Duration()));
}

void LogMirror::Failed(const Status& status) {
  const MonoTime now = clock_.Mono();
  if (failures_++ == 0) failing_since_ = now;
  failed_at_ = now;
  Duration pause = RetryDelay(failures_, prng_);
  if (status.Is(Code::kDenied)) pause = std::max(pause, kDeniedPause);
  if (position_.sent > 0) pause = std::max(pause, kListed);
  retry_at_ = now + pause;
  trouble_ = std::string("log lines do not reach ") + to_.title() + ": " + status.ToString() +
             " (" + std::to_string(failures_) + (failures_ == 1 ? " try" : " tries") +
             "; 'stoker logs' has them)";
  if (said_ || (status.transient() && now - failing_since_ < kSayAfter)) return;
  said_ = true;
  say_(std::string("stoker: from line ") + std::to_string(position_.next) +
       " on, lines do not reach " + to_.title() + ": " + status.ToString() +
       "; it is tried again, and nothing else waits for it");
}

void LogMirror::Recovered() {
  if (said_) say_(std::string("stoker: lines reach ") + to_.title() + " again, all in order");
  said_ = false;
  failures_ = 0;
  retry_at_.reset();
  trouble_.clear();
}

// Whether there is more to do at once.
Result<bool> LogMirror::Work(int64_t end) {
  if (!begun_) STOKER_TRY(Begin());
  for (int batch = 0; batch < kBatchesPerStep; ++batch) {
    // What was sent is settled as a whole.
    const size_t least = std::max<size_t>(1, static_cast<size_t>(position_.sent));
    while (lines_.size() < least && read_end_ < end) {
      STOKER_ASSIGN(const bool any, ReadMore());
      if (any) continue;
      if (end == INT64_MAX) break;
      return Status(Code::kUnavailable, "the store does not list lines that it has");
    }
    if (lines_.empty()) return false;
    if (!prepared_) {
      STOKER_ASSIGN(const std::string told, to_.Prepare());
      if (!told.empty()) say_("stoker: " + told);
      prepared_ = true;
    }
    STOKER_TRY(SendOne());
  }
  return true;
}

Status LogMirror::Begin() {
  const auto text = memory_.read();
  if (!text.ok() && !text.status().Is(Code::kNotFound)) return text.status();
  if (text.ok()) {
    const auto found = ParseMirrorPosition(*text);
    if (found.ok()) position_ = *found;
    if (!found.ok()) {
      say_(std::string("stoker: where this node was in ") + to_.title() +
           " cannot be read, so that lines may be there twice: " + found.status().ToString());
    }
  }
  read_end_ = position_.next;
  read_last_ = position_.last;
  begun_ = true;
  // Of a call that may have been on its way a moment ago.
  if (position_.sent > 0) {
    return Status(Code::kUnavailable,
                  "what was sent before this agent began may not be listed yet");
  }
  return Status::Ok();
}

Result<bool> LogMirror::ReadMore() {
  if (!reader_) {
    LogFilter filter;
    filter.attempt = place_.attempt;
    filter.rank = place_.rank;
    STOKER_ASSIGN(reader_, LogReader::Open(store_, place_.job, filter, Cursor(place_, read_end_)));
  }
  STOKER_ASSIGN(const std::vector<LogRecord> records, reader_->Next());
  for (const LogRecord& record : records) {
    lines_.push_back(CloudLineOf(record, read_last_));
    read_last_ = lines_.back().time;
    read_end_ = record.line + 1;
  }
  return !records.empty();
}

Status LogMirror::SendOne() {
  const bool again = position_.sent > 0;
  const size_t count = again ? std::min(lines_.size(), static_cast<size_t>(position_.sent))
                             : std::min(most_, CloudBatch(lines_, to_.limits()));
  const auto past = std::next(lines_.begin(), static_cast<std::ptrdiff_t>(count));
  const std::vector<CloudLine> batch(lines_.begin(), past);
  if (again) {
    STOKER_ASSIGN(const bool stands, to_.Stands(batch));
    if (stands) return Settle(batch);
  }
  position_.sent = static_cast<int64_t>(count);
  STOKER_TRY(Remember());
  const auto kept = to_.Append(batch);
  const Status& status = kept.status();
  const std::string which =
      std::to_string(batch.front().number) + "-" + std::to_string(batch.back().number);
  if (status.Is(Code::kInvalid)) {
    if (count > 1 && refused_ < kRefusedInARow) {  // one of them may be the wrong one
      most_ = count / 2;
      position_.sent = 0;
      return Remember();
    }
    if (++refused_ == kRefusedInARow) most_ = kMostInACall;
    // What is said is a line, too, and may be refused as well.
    if (!std::exchange(left_out_, true)) {
      say_(std::string("stoker: ") + to_.title() + " does not take lines " + which +
           ", and they are left out there: " + status.ToString());
    }
    return Settle(batch);
  }
  // Refused, so not taken; no answer leaves that open.
  const bool open = status.Is(Code::kUnavailable) || status.Is(Code::kTimeout) ||
                    status.Is(Code::kCorrupt);  // cut off in the middle
  if (!status.ok() && !open) position_.sent = 0;
  if (status.Is(Code::kNotFound)) prepared_ = false;
  STOKER_TRY(status);
  if (!kept->empty() && !left_out_) {
    say_("stoker: of lines " + which + ", " + to_.title() + " keeps not all: " + *kept);
  }
  left_out_ = !kept->empty();
  refused_ = 0;
  most_ = std::min(most_ * 2, kMostInACall);
  return Settle(batch);
}

// What follows is sent by a call that remembers it first, so that this need not.
Status LogMirror::Settle(const std::vector<CloudLine>& batch) {
  position_ = {batch.back().number + 1, batch.back().time, 0};
  lines_.erase(lines_.begin(),
               std::next(lines_.begin(), static_cast<std::ptrdiff_t>(batch.size())));
  if (lines_.empty()) return Remember();
  return Status::Ok();
}

Status LogMirror::Remember() { return memory_.write(PrintMirrorPosition(position_)); }

}  // namespace stoker
