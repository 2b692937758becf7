// SPDX-License-Identifier: Apache-2.0
#include "metrics/log_lines.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "metrics/log_words.h"

namespace stoker::metrics {
namespace {

// Longer ones are no metrics, and what is held of an unfinished line has an end.
constexpr size_t kMaxLine = 64 << 10;
constexpr size_t kMostWaiting = 16;
constexpr int64_t kMostDays = 31;

// Where an object begins behind what a logger puts before its lines; npos: it does not.
size_t ObjectBegins(std::string_view line) {
  const size_t brace = line.find('{');
  if (brace == line.npos || brace > 200 || brace + 1 >= line.size()) return line.npos;
  if (line.find_first_not_of(" \t") == brace) return brace;
  std::vector<Token> before;
  if (!SplitLine(line.substr(0, brace), &before)) return line.npos;
  const auto level = [](const Token& token) { return (token.flags & kLevelWord) != 0; };
  const bool leveled = std::any_of(before.begin(), before.end(), level);
  for (size_t i = 0; i < before.size(); ++i) {
    if (before[i].kind != Token::Kind::kWord || level(before[i])) continue;
    if (i + 1 == before.size()) return line.npos;
    const Token& next = before[i + 1];
    if (next.kind == Token::Kind::kWord || next.kind == Token::Kind::kNumber) return line.npos;
    // "INFO:root:{" is a logger's, "config: {" is not.
    if (next.kind == Token::Kind::kSep && (!leveled || line[brace - 1] == ' ')) return line.npos;
  }
  return brace;
}

// `what`: the name, and on.
std::string Untaken(std::string_view line, std::string_view what, bool counts) {
  const size_t end = std::min(what.find_first_of(":=0123456789"), what.size());
  const std::string name(Bare(what.substr(0, end)));
  std::string regex;
  for (const char c : name) {
    if (std::string_view("\\.^$|()[]{}*+?'").find(c) != std::string_view::npos) regex += '\\';
    regex += c;
  }
  if (end < what.size() && !IsDigit(what[end])) regex += what[end];
  return "not taken: " + QuotedPath(CutText(std::string(line), 120)) +
         (counts ? ": no number stands there alone beside its name"
                 : ": it counts no epoch or step, and says more than a result") +
         ". If it is a metric, the job file takes it by metrics: [{name: '" + Printable(name) +
         "', regex: '" + Printable(regex) + R"(\s*([-+.eE0-9]+)'}])";
}

}  // namespace

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
    case LogLines::Kind::kResult:
      return "results in the log";
    case LogLines::Kind::kBar:
      return "progress bars in the log";
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
  GiveWaiting(false, sink);
  EndKeras(sink);
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

void LogLines::Emit(Kind kind, const Row& row, WallTime time, PointSink& sink) {
  found_[static_cast<size_t>(kind)] += static_cast<int64_t>(row.size());
  // Trainer prints fractions of epochs: where one happens to be whole it is no step either.
  EmitRow(row, std::nullopt, time, sink, kind != Kind::kDict);
}

void LogLines::ByItself(std::string_view line, WallTime time, PointSink& sink) {
  if (!MayHoldMetrics(line)) return;
  const size_t first = line.find_first_not_of(" \t");
  if (first == line.npos) return;
  if (line.back() == '}' || line[first] == '{') {
    const size_t begins = ObjectBegins(line);
    if (begins != line.npos) return Object(line.substr(begins), time, sink);
  }
  if (line[first] >= '0' && line[first] <= '9' && IsKerasLine(line)) return Keras(line, time, sink);
  Counted(line, time, sink);
}

void LogLines::Object(std::string_view line, WallTime time, PointSink& sink) {
  const size_t second = line.find_first_not_of(" \t", 1);
  const bool dict = second != line.npos && line[second] == '\'';
  const auto read = dict ? ReadDictRow(line) : ReadJsonRow(line);
  if (!read || read->row.empty() || (!NamesStep(read->row) && !read->alone)) return;
  Emit(dict ? Kind::kDict : Kind::kJson, read->row, time, sink);
}

void LogLines::EndKeras(PointSink& sink) {
  const Row row = std::exchange(keras_.row, {});
  found_[static_cast<size_t>(Kind::kKeras)] += static_cast<int64_t>(row.size());
  for (const auto& [name, value] : row) {
    sink.OnPoint(name, {keras_epoch_, value, keras_time_, keras_epoch_.has_value(), -1, true});
  }
}

void LogLines::Keras(std::string_view line, WallTime time, PointSink& sink) {
  auto row = ReadKerasRow(line);
  if (!row) return;
  // Another number of steps is of another look at other data: model.evaluate behind the last epoch.
  if (!keras_.row.empty() && keras_.steps != row->steps) {
    EndKeras(sink);
    keras_epoch_.reset();
    for (auto& [name, value] : row->row) name = "evaluate/" + name;
  }
  keras_ = std::move(*row);
  keras_time_ = time;
}

void LogLines::Counted(std::string_view line, WallTime time, PointSink& sink) {
  if (!reader_.Read(line, &row_) || Waits(line, time, sink)) return;
  GiveRow(line, time, sink);
}

// Or row_ is of the line, without a place that is taken for a date.
bool LogLines::Waits(std::string_view line, WallTime time, PointSink& sink) {
  const auto give = [&](bool counted) {
    if (leading_.waiting.empty()) return;
    GiveWaiting(counted, sink);
    reader_.Read(line, &row_);
  };
  if (!row_.leads || row_.bar || !row_.place) {
    if (row_.epoch) give(false);  // they are of the epoch before
    return false;
  }
  const Place place = *row_.place;
  auto& [seen, is_date, waiting, wholes] = leading_;
  const bool same = seen && seen->whole == place.whole;
  if (!MayBeDate(place) || wholes.contains(place.whole) || (same && place.part > seen->part)) {
    if (place.whole <= kMostDays) wholes.insert(place.whole);
    give(same);
    return false;
  }
  if (!same) give(false);
  is_date &= same && place.part == seen->part;
  seen = place;
  if (!row_.values.empty() && !is_date && waiting.size() < kMostWaiting) {
    waiting.emplace_back(line, time);
    return true;
  }
  is_date |= waiting.size() >= kMostWaiting;
  give(false);
  row_.place.reset();
  return false;
}

void LogLines::GiveWaiting(bool counted, PointSink& sink) {
  const auto lines = std::exchange(leading_.waiting, {});
  for (const auto& [line, time] : lines) {
    reader_.Read(line, &row_);
    if (!counted) row_.place.reset();
    GiveRow(line, time, sink);
  }
}

void LogLines::GiveRow(std::string_view line, WallTime time, PointSink& sink) {
  const int64_t given = names_.Give(row_, time, sink);
  if (row_.epoch && row_.values.empty() && names_.epoch() == row_.epoch) {
    if (keras_epoch_ != row_.epoch) EndKeras(sink);
    keras_epoch_ = row_.epoch;
  }
  const Kind kind = row_.bar ? Kind::kBar : row_.counts() ? Kind::kCounted : Kind::kResult;
  found_[static_cast<size_t>(kind)] += given;
  if (given > 0 || untaken_said_ || row_.bar) return;
  std::string_view what = row_.refused;
  for (const NamedValue& value : row_.values) {
    if (value.result) what = line.substr(static_cast<size_t>(value.name.data() - line.data()));
  }
  if (what.empty()) return;
  untaken_said_ = true;
  untaken_ = Untaken(line, what, row_.counts());
}

}  // namespace stoker::metrics
