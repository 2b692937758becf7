// SPDX-License-Identifier: Apache-2.0
#include "agent/log_spool.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/text.h"

namespace stoker {
namespace {

constexpr size_t kBatchBytes = 256 * 1024;
constexpr size_t kStderrTail = 4096;
// Writers wait for room only while the shipper freed some this recently.
constexpr Duration kShipperAlive = Duration::Seconds(5);
// Disk full: the loss is said once no line was lost for this long.
constexpr Duration kLossQuiet = Duration::Seconds(1);

size_t Index(LogStream stream) {
  return stream == LogStream::kOut ? 0 : stream == LogStream::kErr ? 1 : 2;
}

constexpr LogStream kStreams[] = {LogStream::kOut, LogStream::kErr, LogStream::kSystem};

}  // namespace

LogSpool::LogSpool(std::unique_ptr<SpoolFolder> folder, Clock& clock, std::function<void()> wake,
                   const LogSpoolOptions& options)
    : folder_(std::move(folder)), clock_(clock), wake_(std::move(wake)), options_(options) {
  last_trim_ = clock_.Mono();
}

void LogSpool::Write(LogStream stream, std::string_view bytes) {
  if (bytes.empty()) return;
  bool wake = false;
  {
    std::unique_lock<std::mutex> lock(mutex_);
    WaitForRoom(lock);
    WallTime wall = clock_.Wall();
    UpdateHeaders(wall);
    if (stream != LogStream::kSystem) {
      counters_.bytes += static_cast<int64_t>(bytes.size());
      counters_.last_output = wall;
    }
    if (stream == LogStream::kErr) RememberStderr(bytes);
    Split(stream, bytes, clock_.Mono());
    Commit();
    wake = TakeWake();
  }
  if (wake && wake_) wake_();
}

void LogSpool::Say(std::string_view text) {
  std::string line(text);
  std::replace(line.begin(), line.end(), '\n', ' ');
  Write(LogStream::kSystem, line + "\n");
}

std::optional<MonoTime> LogSpool::Tick() {
  std::optional<MonoTime> next;
  bool wake = false;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    MonoTime now = clock_.Mono();
    UpdateHeaders(clock_.Wall());
    auto due = [&](MonoTime at) {
      if (at > now && (!next || at < *next)) next = at;
      return at <= now;
    };
    for (LogStream stream : kStreams) {
      Partial& partial = partials_[Index(stream)];
      if (partial.text.empty()) continue;
      if (due(std::min(partial.touched + options_.partial_idle,
                       partial.begun + options_.partial_age))) {
        FlushPartial(stream);
      }
    }
    bool say_loss = lost_unsaid_ > 0 && due(last_loss_ + kLossQuiet);
    if (batch_records_ > 0 || say_loss) Commit();
    if (lost_unsaid_ > 0 && !next) next = now + kLossQuiet;
    tick_scheduled_ = next.has_value();
    wake = TakeWake();
  }
  if (wake && wake_) wake_();
  return next;
}

void LogSpool::FlushPartials() {
  bool wake = false;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    UpdateHeaders(clock_.Wall());
    for (LogStream stream : kStreams) FlushPartial(stream);
    Commit();
    wake = TakeWake();
  }
  if (wake && wake_) wake_();
}

void LogSpool::WaitForRoom(std::unique_lock<std::mutex>& lock) {
  while (spooled_ > options_.max_bytes && clock_.Mono() - last_trim_ < kShipperAlive) {
    room_.wait_for(lock, std::chrono::milliseconds(50));
  }
}

void LogSpool::UpdateHeaders(WallTime now) {
  if (now == batch_time_ && !headers_[0][0].empty()) return;
  batch_time_ = now;
  for (LogStream stream : kStreams) {
    for (bool continues : {false, true}) {
      headers_[Index(stream)][continues] = RecordHeader(now, stream, continues);
    }
  }
}

void LogSpool::Split(LogStream stream, std::string_view bytes, MonoTime now) {
  Partial& partial = partials_[Index(stream)];
  while (!bytes.empty()) {
    size_t newline = bytes.find('\n');
    std::string_view piece = bytes.substr(0, newline);
    while (partial.text.size() + piece.size() > static_cast<size_t>(kMaxRecordText)) {
      size_t take = static_cast<size_t>(kMaxRecordText) - partial.text.size();
      AddRecord(stream, true, partial.text, piece.substr(0, take));
      partial.text.clear();
      piece.remove_prefix(take);
    }
    if (newline == std::string_view::npos) {
      if (partial.text.empty()) partial.begun = now;
      partial.touched = now;
      partial.text.append(piece);
      return;
    }
    AddRecord(stream, false, partial.text, piece);
    partial.text.clear();
    if (stream != LogStream::kSystem) ++counters_.lines;
    bytes.remove_prefix(newline + 1);
  }
}

void LogSpool::FlushPartial(LogStream stream) {
  Partial& partial = partials_[Index(stream)];
  if (partial.text.empty()) return;
  AddRecord(stream, true, partial.text, "");
  partial.text.clear();
}

void LogSpool::AddRecord(LogStream stream, bool continues, std::string_view a, std::string_view b) {
  batch_ += headers_[Index(stream)][continues];
  batch_ += a;
  batch_ += b;
  batch_ += '\n';
  ++batch_records_;
  if (batch_.size() >= kBatchBytes) Commit();
}

void LogSpool::Tell(std::function<void(int64_t first, std::string_view records)> told) {
  const std::lock_guard lock(mutex_);
  told_ = std::move(told);
}

std::string LogSpool::LossNotice() const {
  return headers_[Index(LogStream::kSystem)][false] + "stoker: " + std::to_string(lost_unsaid_) +
         " lines lost: " +
         (append_status_.Is(Code::kNoSpace) ? "disk full" : append_status_.message()) + "\n";
}

void LogSpool::Commit() {
  if (batch_records_ == 0 && lost_unsaid_ == 0) return;
  bool notice = lost_unsaid_ > 0;
  if (notice) batch_.insert(0, LossNotice());
  int64_t records = batch_records_;
  Status appended = AppendBatch(batch_, records + (notice ? 1 : 0));
  if (appended.ok()) {
    lost_unsaid_ = 0;
    if (told_) told_(next_line_ - records - (notice ? 1 : 0), batch_);
  } else {
    appender_.reset();
    if (records > 0) last_loss_ = clock_.Mono();
    lost_unsaid_ += records;
    counters_.lost_lines += records;
  }
  append_status_ = std::move(appended);
  batch_.clear();
  batch_records_ = 0;
}

Status LogSpool::AppendBatch(std::string_view batch, int64_t records) {
  if (spooled_ > options_.max_bytes) {
    return Status(Code::kNoSpace,
                  "the log that waits for the store is over " + HumanSize(options_.max_bytes));
  }
  if (appender_ == nullptr || files_.back().bytes >= options_.rotate_bytes) {
    STOKER_TRY(OpenCurrent());
  }
  STOKER_TRY(appender_->Append(batch));
  File& file = files_.back();
  int64_t bytes = static_cast<int64_t>(batch.size());
  file.records += records;
  file.bytes += bytes;
  spooled_ += bytes;
  appended_ += bytes;
  next_line_ += records;
  return Status::Ok();
}

// Goes on in the newest file, without what a failed or torn append left behind, or begins another.
Status LogSpool::OpenCurrent() {
  bool go_on = !files_.empty() && files_.back().end() == next_line_ &&
               files_.back().bytes < options_.rotate_bytes;
  std::string name = go_on ? files_.back().name : Padded(next_line_, 12) + ".log";
  appender_.reset();
  STOKER_ASSIGN(std::unique_ptr<SpoolAppender> opened, folder_->OpenAppend(name));
  STOKER_TRY(folder_->Truncate(name, go_on ? files_.back().bytes : 0));
  if (!go_on) files_.push_back({name, next_line_, 0, 0});
  appender_ = std::move(opened);
  return Status::Ok();
}

// With mutex_ held: true when the shipper asked to be told of this.
bool LogSpool::TakeWake() {
  bool wake = false;
  if (wake_at_ && appended_ >= *wake_at_) {
    wake_at_.reset();
    wake = true;
  }
  bool pending = lost_unsaid_ > 0;
  for (const Partial& partial : partials_) pending |= !partial.text.empty();
  if (pending && !tick_scheduled_) {
    tick_scheduled_ = true;
    wake = true;
  }
  return wake;
}

void LogSpool::RememberStderr(std::string_view bytes) {
  if (bytes.size() >= kStderrTail) {
    stderr_tail_.assign(bytes.substr(bytes.size() - kStderrTail));
    return;
  }
  stderr_tail_ += bytes;
  if (stderr_tail_.size() > 2 * kStderrTail) {
    stderr_tail_.erase(0, stderr_tail_.size() - kStderrTail);
  }
}

std::string LogSpool::stderr_tail() const {
  std::string raw;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    raw = stderr_tail_;
  }
  if (raw.size() >= kStderrTail) {
    raw.erase(0, raw.size() - kStderrTail);
    size_t newline = raw.find('\n');  // begin with a whole line, unless it is all one
    if (newline != std::string::npos && newline + 1 < raw.size()) raw.erase(0, newline + 1);
  }
  std::string tail;
  for (std::string_view rest = raw; !rest.empty();) {
    size_t newline = rest.find('\n');
    std::string_view line = rest.substr(0, newline);
    while (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    size_t shown = line.rfind('\r');  // what a terminal would show last
    if (shown != std::string_view::npos) line.remove_prefix(shown + 1);
    tail += Printable(line);
    if (newline == std::string_view::npos) break;
    tail += '\n';
    rest.remove_prefix(newline + 1);
  }
  return tail;
}

LogCounters LogSpool::counters() const {
  std::lock_guard<std::mutex> lock(mutex_);
  LogCounters counters = counters_;
  counters.records = next_line_ - 1;
  return counters;
}

std::string LogSpool::trouble() const {
  std::lock_guard<std::mutex> lock(mutex_);
  if (append_status_.ok()) return "";
  return "the log cannot be kept: " + append_status_.message() + " (" +
         std::to_string(counters_.lost_lines) + " lines lost)";
}

}  // namespace stoker
