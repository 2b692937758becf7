// SPDX-License-Identifier: Apache-2.0
#include "metrics/log_lines.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace stoker::metrics {
namespace {

// Longer ones are no metrics, and what is held of an unfinished line has an end.
constexpr size_t kMaxLine = 64 << 10;

// Ends a state of a line, or is taken out of it.
constexpr char kOdd[] = {'\r', '\x1b', '\b'};
// Between a name and its number, or a count and its end. Each row has one of them.
constexpr char kSigns[] = {':', '=', '/'};

// Each by itself is a fast search; together they are not.
template <size_t kCount>
bool HasAny(std::string_view text, const char (&wanted)[kCount]) {
  return std::any_of(std::begin(wanted), std::end(wanted),
                     [&](char c) { return text.find(c) != text.npos; });
}

bool IsWordCharacter(unsigned char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

}  // namespace

bool IsPlain(std::string_view text) { return !HasAny(text, kOdd) && !HasAny(text, kSigns); }

bool MayHoldMetrics(std::string_view line) {
  // epoch, step, iteration; global, train, val, test before them.
  constexpr std::string_view kBegins = "esigtvESIGTV";
  const size_t first = line.find_first_not_of(" \t");
  if (first == line.npos) return false;
  if (HasAny(line, kOdd)) return true;
  if (!HasAny(line, kSigns)) return false;
  if (line[first] == '{' || (line[first] >= '0' && line[first] <= '9')) return true;
  for (const char c : line.substr(first)) {
    if (static_cast<unsigned char>(c) >= 0x80) return true;  // who knows what it folds to
    if (IsWordCharacter(static_cast<unsigned char>(c))) return kBegins.find(c) != kBegins.npos;
  }
  return false;
}

std::string_view KindName(LogLines::Kind kind) {
  switch (kind) {
    case LogLines::Kind::kPattern:
      return "the log, by patterns";
    case LogLines::Kind::kJson:
      return "JSON lines in the log";
    case LogLines::Kind::kDict:
      return "dictionaries in the log";
    case LogLines::Kind::kKeras:
      return "Keras's progress lines";
    case LogLines::Kind::kCounted:
      return "lines of the log that count epochs or steps";
  }
  return "";
}

void LogLines::Record(int stream, bool continues, std::string_view text, WallTime time,
                      PointSink& sink) {
  std::string& open = open_[stream == 1 ? 1 : 0];
  // A carriage return ends a state of a progress bar, which counts as a line.
  while (!text.empty()) {
    const size_t end = text.find('\r');
    if (open.size() <= kMaxLine) open.append(text.substr(0, std::min(end, kMaxLine + 1)));
    if (end == text.npos) break;
    if (open.size() <= kMaxLine) Line(open, time, sink);
    open.clear();
    text.remove_prefix(end + 1);
  }
  if (continues) return;
  if (open.size() <= kMaxLine) Line(open, time, sink);
  open.clear();
}

void LogLines::Finish(PointSink& sink) {
  for (std::string& open : open_) {
    if (!open.empty() && open.size() <= kMaxLine) Line(std::exchange(open, ""), keras_time_, sink);
  }
  if (!keras_.empty()) Emit(Kind::kKeras, std::exchange(keras_, {}), epoch_, keras_time_, sink);
}

void LogLines::Line(std::string_view line, WallTime time, PointSink& sink) {
  if (line.size() < 3) return;
  std::string plain;
  if (line.find_first_of("\x1b\b") != line.npos) {
    plain = WithoutEscapes(line);
    line = plain;
  }
  if (patterns_.empty()) return ByItself(line, time, sink);
  std::optional<int64_t> step;
  bool looked = false;
  for (const Pattern& pattern : patterns_) {
    const auto value = pattern.Find(line);
    if (!value) continue;
    if (!std::exchange(looked, true)) step = FindStep(line);
    ++found_[static_cast<size_t>(Kind::kPattern)];
    sink.OnPoint(pattern.name(), {step, *value, time});
  }
}

void LogLines::Emit(Kind kind, const Row& row, std::optional<int64_t> step, WallTime time,
                    PointSink& sink) {
  found_[static_cast<size_t>(kind)] += static_cast<int64_t>(row.size());
  // Trainer prints fractions of epochs: where one happens to be whole it is no step either.
  EmitRow(row, step, time, sink, kind != Kind::kDict);
}

void LogLines::ByItself(std::string_view line, WallTime time, PointSink& sink) {
  const size_t first = line.find_first_not_of(" \t");
  if (first == line.npos) return;
  if (line[first] == '{') {
    const bool dict = line.find_first_not_of(" \t", first + 1) != line.npos &&
                      line[line.find_first_not_of(" \t", first + 1)] == '\'';
    const auto row = dict ? ReadDictRow(line) : ReadJsonRow(line);
    if (!row || row->empty()) return;
    const auto colons = static_cast<size_t>(std::count(line.begin(), line.end(), ':'));
    if (!NamesStep(*row) && colons != row->size()) return;
    return Emit(dict ? Kind::kDict : Kind::kJson, *row, std::nullopt, time, sink);
  }
  if (const auto epoch = ReadKerasEpoch(line)) {
    if (!keras_.empty()) Emit(Kind::kKeras, std::exchange(keras_, {}), epoch_, keras_time_, sink);
    epoch_ = epoch;
    return;
  }
  if (line[first] >= '0' && line[first] <= '9') {
    if (auto row = ReadKerasRow(line)) {
      keras_ = std::move(*row);
      keras_time_ = time;
    }
    return;
  }
  if (const auto counted = ReadCountedRow(line)) {
    Emit(Kind::kCounted, counted->row, counted->count, time, sink);
  }
}

}  // namespace stoker::metrics
