// SPDX-License-Identifier: Apache-2.0
// The reading half of LogSpool: recovery after a death, and what the shipper reads.
#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>

#include "agent/log_spool.h"
#include "base/text.h"

namespace stoker {
namespace {

constexpr int64_t kScanBytes = 256 * 1024;

// "000000000001.log" -> 1; nullopt for any other name.
std::optional<int64_t> FirstLineOf(const std::string& name) {
  int64_t first = 0;
  if (name.size() != 16 || !EndsWith(name, ".log")) return std::nullopt;
  auto [end, error] = std::from_chars(name.data(), name.data() + 12, first);
  if (error != std::errc() || end != name.data() + 12 || first < 1) return std::nullopt;
  return first;
}

// memchr, because std::count looks at one byte after the other.
int64_t CountLines(std::string_view text) {
  int64_t lines = 0;
  for (size_t at = 0; (at = text.find('\n', at)) != std::string_view::npos; ++at) ++lines;
  return lines;
}

}  // namespace

Result<std::unique_ptr<LogSpool>> LogSpool::Open(std::unique_ptr<SpoolFolder> folder, Clock& clock,
                                                 std::function<void()> wake,
                                                 const LogSpoolOptions& options) {
  std::unique_ptr<LogSpool> spool(new LogSpool(std::move(folder), clock, std::move(wake), options));
  STOKER_TRY(spool->Recover().WithContext("recover the log spool"));
  return spool;
}

Status LogSpool::Recover() {
  STOKER_ASSIGN(const std::vector<SpoolEntry> entries, folder_->List());
  std::vector<std::pair<int64_t, SpoolEntry>> found;
  for (const SpoolEntry& entry : entries) {
    if (std::optional<int64_t> first = FirstLineOf(entry.name)) found.push_back({*first, entry});
  }
  for (size_t i = 0; i < found.size(); ++i) {
    const auto& [first, entry] = found[i];
    int64_t limit =
        i + 1 < found.size() ? found[i + 1].first - first : std::numeric_limits<int64_t>::max();
    STOKER_ASSIGN(File file, Scan(entry.name, limit, entry.size));
    file.first = first;
    if (file.records == 0 && i + 1 < found.size()) {
      STOKER_TRY(folder_->Remove(entry.name));
      continue;
    }
    spooled_ += file.bytes;
    files_.push_back(std::move(file));
  }
  next_line_ = options_.first_line;
  if (!files_.empty()) next_line_ = std::max(next_line_, files_.back().end());
  return Status::Ok();
}

// Counts the whole, well-formed records at the start of a file, up to `limit`.
Result<LogSpool::File> LogSpool::Scan(const std::string& name, int64_t limit, int64_t size) {
  File file{name, 0, 0, 0};
  std::string data;
  int64_t offset = 0;  // of what comes after `data`
  while (offset < size) {
    STOKER_ASSIGN(const std::string more, folder_->Read(name, offset, kScanBytes));
    if (more.empty()) break;
    offset += static_cast<int64_t>(more.size());
    data += more;
    size_t begin = 0;
    for (size_t newline; (newline = data.find('\n', begin)) != std::string::npos;) {
      std::string_view line = std::string_view(data).substr(begin, newline - begin);
      if (file.records == limit || !ParseRecord(line)) return file;
      ++file.records;
      file.bytes += static_cast<int64_t>(newline + 1 - begin);
      begin = newline + 1;
    }
    data.erase(0, begin);
    if (data.size() > static_cast<size_t>(kMaxLogRecordBytes)) break;
  }
  return file;
}

Result<int64_t> LogSpool::OffsetOf(const File& file, int64_t line) {
  int64_t offset = 0;
  int64_t at = file.first;
  while (at < line) {
    STOKER_ASSIGN(const std::string data,
                  folder_->Read(file.name, offset, std::min(kScanBytes, file.bytes - offset)));
    if (data.empty()) break;
    size_t begin = 0;
    for (size_t newline; at < line && (newline = data.find('\n', begin)) != std::string::npos;) {
      ++at;
      begin = newline + 1;
    }
    offset += static_cast<int64_t>(at < line ? data.size() : begin);
  }
  if (at == line) return offset;
  return Status(Code::kCorrupt,
                "log spool " + file.name + " lost its line " + std::to_string(line));
}

Result<LogSpool::Chunk> LogSpool::Read(int64_t line, int64_t max_bytes) {
  File file;
  int64_t offset = -1;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    auto at = std::find_if(files_.begin(), files_.end(),
                           [line](const File& f) { return f.end() > line && f.records > 0; });
    if (at == files_.end()) return Chunk{};
    file = *at;
    line = std::max(line, file.first);
    if (place_name_ == file.name && place_line_ == line) offset = place_offset_;
  }
  if (offset < 0) {
    STOKER_ASSIGN(offset, OffsetOf(file, line));
  }
  int64_t want = std::max(max_bytes, kMaxLogRecordBytes);
  // A small rest goes along: as a segment of its own it would cost as much as a whole one.
  if (file.bytes - offset <= want + want / 4) want = file.bytes - offset;
  STOKER_ASSIGN(std::string text, folder_->Read(file.name, offset, want));
  size_t newline = text.rfind('\n');
  if (newline == std::string::npos) {
    return Status(Code::kCorrupt, "log spool " + file.name + " was cut short by somebody else");
  }
  text.resize(newline + 1);
  Chunk chunk;
  chunk.first = line;
  chunk.lines = CountLines(text);
  {
    std::lock_guard<std::mutex> lock(mutex_);
    place_name_ = file.name;
    place_line_ = line + chunk.lines;
    place_offset_ = offset + static_cast<int64_t>(text.size());
  }
  chunk.text = std::move(text);
  return chunk;
}

void LogSpool::Trim(int64_t line) {
  std::lock_guard<std::mutex> lock(mutex_);
  last_trim_ = clock_.Mono();
  while (files_.size() > 1 && files_.front().end() <= line) {
    // A file that cannot be removed now is found again, and shipped past, by the next recovery.
    (void)folder_->Remove(files_.front().name);
    spooled_ -= files_.front().bytes;
    files_.erase(files_.begin());
  }
  room_.notify_all();
}

void LogSpool::SkipTo(int64_t line) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (line <= next_line_) return;
  next_line_ = line;
  appender_.reset();  // the next append begins a file that is named by its first line
}

Status LogSpool::Remove() {
  std::lock_guard<std::mutex> lock(mutex_);
  appender_.reset();
  for (const File& file : files_) STOKER_TRY(folder_->Remove(file.name));
  files_.clear();
  spooled_ = 0;
  return Status::Ok();
}

LogSpool::Waiting LogSpool::WaitingFrom(int64_t line) const {
  std::lock_guard<std::mutex> lock(mutex_);
  Waiting waiting;
  waiting.appended = appended_;
  for (const File& file : files_) {
    int64_t lines = file.end() - std::max(line, file.first);
    if (lines <= 0) continue;
    if (waiting.lines == 0) waiting.first = file.end() - lines;
    waiting.lines += lines;
    bool at_place = place_name_ == file.name && place_line_ == file.end() - lines;
    waiting.bytes += at_place ? file.bytes - place_offset_ : file.bytes / file.records * lines;
  }
  return waiting;
}

void LogSpool::WakeAt(int64_t appended) {
  bool now = false;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    now = appended_ >= appended;
    wake_at_ = appended;
    if (now) wake_at_.reset();
  }
  if (now && wake_) wake_();
}

}  // namespace stoker
