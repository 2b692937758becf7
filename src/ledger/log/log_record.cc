// SPDX-License-Identifier: Apache-2.0
#include "ledger/log/log_record.h"

#include <cstdint>
#include <limits>

#include "base/text.h"
#include "ledger/paths.h"

namespace stoker {
namespace {

// Reads a decimal without sign or blanks at the front of `text` and removes it. 0 <= low <= high.
// By hand: a merge reads some 100,000 a second.
template <typename T>
bool TakeNumber(std::string_view& text, T low, T high, T* out) {
  constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max() / 10 - 1;
  uint64_t value = 0;
  size_t digits = 0;
  for (; digits < text.size() && text[digits] >= '0' && text[digits] <= '9'; ++digits) {
    if (value > kMost) return false;
    value = value * 10 + static_cast<uint64_t>(text[digits] - '0');
  }
  if (digits == 0 || value < static_cast<uint64_t>(low) || value > static_cast<uint64_t>(high))
    return false;
  *out = static_cast<T>(value);
  text.remove_prefix(digits);
  return true;
}

bool TakeText(std::string_view& text, std::string_view expected) {
  if (!StartsWith(text, expected)) return false;
  text.remove_prefix(expected.size());
  return true;
}

}  // namespace

std::string RecordHeader(WallTime time, LogStream stream, bool continues) {
  std::string header = std::to_string(time.ms < 0 ? 0 : time.ms);
  header += ' ';
  header += static_cast<char>(stream);
  if (continues) header += '+';
  header += ' ';
  return header;
}

std::optional<RecordView> ParseRecord(std::string_view line) {
  RecordView view;
  if (!TakeNumber<int64_t>(line, 0, int64_t{1} << 53, &view.time.ms)) return std::nullopt;
  if (line.size() < 3 || line[0] != ' ') return std::nullopt;
  if (line[1] != 'o' && line[1] != 'e' && line[1] != 's') return std::nullopt;
  view.stream = static_cast<LogStream>(line[1]);
  line.remove_prefix(2);
  view.continues = TakeText(line, "+");
  if (!TakeText(line, " ")) return std::nullopt;
  view.text = line;
  return view;
}

std::string SegmentKey(const std::string& job, int attempt, int rank, int64_t first,
                       int64_t lines) {
  return paths::Log(job, attempt, rank) + Padded(first, 12) + "-" + std::to_string(lines) + ".zst";
}

std::optional<LogSegment> ParseSegmentKey(const std::string& job, const std::string& key) {
  LogSegment segment;
  std::string_view rest = key;
  constexpr int kMaxNumber = 1'000'000'000;
  if (!TakeText(rest, paths::Logs(job)) ||
      !TakeNumber<int>(rest, 1, kMaxNumber, &segment.attempt) || !TakeText(rest, "-") ||
      !TakeNumber<int>(rest, 0, kMaxNumber, &segment.rank) || !TakeText(rest, "/") ||
      !TakeNumber<int64_t>(rest, 1, kMaxLogLine, &segment.first) || !TakeText(rest, "-") ||
      !TakeNumber<int64_t>(rest, 1, kMaxLogLine, &segment.lines) || rest != ".zst" ||
      segment.end() > kMaxLogLine ||  // no cursor could say the next line
      // Only the one spelling that SegmentKey gives: no second name for the same lines.
      SegmentKey(job, segment.attempt, segment.rank, segment.first, segment.lines) != key) {
    return std::nullopt;
  }
  segment.key = key;
  return segment;
}

}  // namespace stoker
