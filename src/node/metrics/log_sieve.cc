// SPDX-License-Identifier: Apache-2.0
#include "node/metrics/log_sieve.h"

#include <algorithm>

#include "base/text.h"
#include "ledger/log/log_record.h"
#include "metrics/log_words.h"

namespace stoker::node {
namespace {

bool IsOfNumber(char c) { return (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '+'; }

// They differ in digits alone.
bool Alike(std::string_view a, std::string_view b) {
  size_t i = 0;
  size_t j = 0;
  while (true) {
    while (i < a.size() && IsOfNumber(a[i])) ++i;
    while (j < b.size() && IsOfNumber(b[j])) ++j;
    if (i == a.size() || j == b.size()) return i == a.size() && j == b.size();
    if (a[i++] != b[j++]) return false;
  }
}

}  // namespace

int64_t LogSieve::Sift(int64_t first, std::string_view records,
                       const std::function<void(int64_t first, std::string_view records)>& keep) {
  size_t begin = 0;  // of the run that is kept
  int64_t begin_line = first;
  int64_t line = first;
  std::string_view crowded;  // the record before, where there was no room for it
  for (size_t at = 0; at < records.size(); ++line) {
    const size_t newline = records.find('\n', at);
    const size_t end = newline == records.npos ? records.size() : newline + 1;
    const std::string_view record =
        records.substr(at, (newline == records.npos ? end : newline) - at);
    if (!Wanted(record)) {
      if (begin < at) keep(begin_line, records.substr(begin, at - begin));
      begin = end;
      begin_line = line + 1;
      crowded = {};
    } else if (TakesRoom()) {
      crowded = {};
    } else {
      const bool again = StartsWith(crowded, header_) &&
                         Alike(crowded.substr(header_.size()), record.substr(header_.size()));
      if (again) {
        const size_t before = static_cast<size_t>(crowded.data() - records.data());
        if (begin < before) keep(begin_line, records.substr(begin, before - begin));
        begin = at;
        begin_line = line;
        ++left_out_;
      }
      crowded = record;
    }
    at = end;
  }
  if (begin < records.size()) keep(begin_line, records.substr(begin));
  return line - first;
}

bool LogSieve::Wanted(std::string_view record) {
  if (header_.empty() || !StartsWith(record, header_)) {
    const auto read = ParseRecord(record);
    header_ = read ? record.substr(0, record.size() - read->text.size()) : "";
    ours_ = read && read->stream != LogStream::kSystem;
    continues_ = read && read->continues;
    if (read) {
      const int64_t passed = std::clamp<int64_t>(read->time.ms - time_ms_, 0, kBurst);
      room_ = std::min(kBurst, room_ + kEachMs * passed);
      time_ms_ = read->time.ms;
    }
    stream_ = read && read->stream == LogStream::kErr ? 1 : 0;
  }
  if (!ours_) return false;
  const bool part = continues_ || open_[stream_];
  open_[stream_] = continues_;
  whole_ = !part;
  if (part || all_) return true;
  return metrics::MayHoldMetrics(record.substr(header_.size()));
}

bool LogSieve::TakesRoom() {
  if (!whole_ || all_) return true;
  return room_ > 0 && room_-- > 0;
}

}  // namespace stoker::node
