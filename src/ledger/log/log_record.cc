// SPDX-License-Identifier: Apache-2.0
#include "ledger/log/log_record.h"

#include <charconv>

#include "base/text.h"
#include "ledger/paths.h"

namespace stoker {
namespace {

// Reads a decimal without sign or blanks at the front of `text` and removes it.
template <typename T>
bool TakeNumber(std::string_view& text, T low, T high, T* out) {
  if (text.empty() || text[0] < '0' || text[0] > '9') return false;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *out);
  if (error != std::errc() || *out < low || *out > high) return false;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
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
