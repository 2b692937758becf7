// SPDX-License-Identifier: Apache-2.0
#include "node/metrics/log_sieve.h"

#include <algorithm>
#include <cstring>

#include "base/text.h"
#include "ledger/log/log_record.h"
#include "metrics/log_words.h"

namespace stoker::node {
namespace {

bool IsOfNumber(char c) { return (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '+'; }

// Whether bytes of two words differ where one of them is of no number.
bool DifferBesideNumbers(const char* a, const char* b, size_t size) {
  for (size_t i = 0; i < size; ++i) {
    if (a[i] != b[i] && !(IsOfNumber(a[i]) && IsOfNumber(b[i]))) return true;
  }
  return false;
}

// Of lines of one length, as most that follow each other are; eight bytes at once. False: perhaps.
bool AlikeInPlace(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  size_t at = 0;
  for (; at + 8 <= a.size(); at += 8) {
    uint64_t x = 0;
    uint64_t y = 0;
    std::memcpy(&x, a.data() + at, 8);
    std::memcpy(&y, b.data() + at, 8);
    if (x != y && DifferBesideNumbers(a.data() + at, b.data() + at, 8)) return false;
  }
  return !DifferBesideNumbers(a.data() + at, b.data() + at, a.size() - at);
}

// They differ in digits alone.
bool Alike(std::string_view a, std::string_view b) {
  if (AlikeInPlace(a, b)) return true;
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
  std::string_view before;   // the record before, where it may hold metrics
  std::string_view crowded;  // the same, where there was no room for it
  for (size_t at = 0; at < records.size(); ++line) {
    if (GoesOn(crowded, records, at)) {  // as below, in a flood
      const size_t last = at - crowded.size() - 1;
      if (begin < last) keep(begin_line, records.substr(begin, last - begin));
      begin = at;
      begin_line = line;
      ++left_out_;
      before = crowded = records.substr(at, crowded.size());
      at += crowded.size() + 1;
      continue;
    }
    const size_t newline = records.find('\n', at);
    const size_t end = newline == records.npos ? records.size() : newline + 1;
    const std::string_view record =
        records.substr(at, (newline == records.npos ? end : newline) - at);
    const bool wanted = Wanted(record, before);
    before = wanted && whole_ ? record : std::string_view();
    if (!wanted) {
      if (begin < at) keep(begin_line, records.substr(begin, at - begin));
      begin = end;
      begin_line = line + 1;
      crowded = {};
    } else if (TakesRoom()) {
      crowded = {};
    } else {
      if (!crowded.empty() && again_) {
        const size_t last = static_cast<size_t>(crowded.data() - records.data());
        if (begin < last) keep(begin_line, records.substr(begin, last - begin));
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

bool LogSieve::GoesOn(std::string_view crowded, std::string_view records, size_t at) const {
  const size_t size = crowded.size();
  if (size == 0 || room_ > 0 || at + size >= records.size() || records[at + size] != '\n') {
    return false;
  }
  const size_t head = header_.size();
  return size >= head && std::memcmp(records.data() + at, crowded.data(), head) == 0 &&
         AlikeInPlace(crowded.substr(head), records.substr(at + head, size - head));
}

bool LogSieve::Wanted(std::string_view record, std::string_view before) {
  if (header_.empty() || !StartsWith(record, header_)) {
    const auto read = ParseRecord(record);
    header_ = read ? record.substr(0, record.size() - read->text.size()) : "";
    ours_ = read && read->stream != LogStream::kSystem;
    continues_ = read && read->continues;
    if (read) {
      const int64_t passed = std::clamp<int64_t>(read->time.ms - time_ms_, 0, kBurst);
      room_ = std::min(kBurst, room_ + passed);
      time_ms_ = read->time.ms;
    }
    stream_ = read && read->stream == LogStream::kErr ? 1 : 0;
  }
  if (!ours_) return false;
  const bool part = continues_ || open_[stream_];
  open_[stream_] = continues_;
  whole_ = !part;
  again_ = false;
  if (part || all_) return true;
  const std::string_view text = record.substr(header_.size());
  again_ = StartsWith(before, header_) && Alike(before.substr(header_.size()), text);
  return again_ || metrics::MayHoldMetrics(text);
}

bool LogSieve::TakesRoom() {
  if (!whole_ || all_) return true;
  return room_ > 0 && room_-- > 0;
}

}  // namespace stoker::node
