// SPDX-License-Identifier: Apache-2.0
// Finds metrics in what a program prints. Pure, stepped.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "metrics/line_names.h"
#include "metrics/line_rows.h"
#include "metrics/patterns.h"
#include "metrics/point.h"
#include "metrics/text_rows.h"

namespace stoker::metrics {

// With patterns, what they find, and nothing else. Without any: JSON objects, Python dicts, Keras's
// progress lines, lines that count an epoch or step (metrics/line_rows.h), and results alone on
// their line; of the first two those that name a step or epoch, or hold numbers alone.
class LogLines {
 public:
  enum class Kind { kPattern, kJson, kDict, kKeras, kCounted, kResult, kBar };
  static constexpr size_t kKinds = 7;

  explicit LogLines(std::vector<Pattern> patterns) : patterns_(std::move(patterns)) {}

  // One record of the log (ledger/log/log_record.h): `stream` 0 or 1, `continues` where its line
  // goes on in the next record of the stream.
  void Record(int stream, bool continues, std::string_view text, WallTime time, PointSink& sink);
  // What waits for more that does not come.
  void Finish(PointSink& sink);
  // How many points of each kind have been found.
  const std::array<int64_t, kKinds>& found() const { return found_; }
  // What a former attempt, or agent, has learned of the log; and this one.
  void set_series(LogSeries series) { names_.set_series(std::move(series)); }
  const LogSeries& series() const { return names_.series(); }
  // "" or, once, what looks like a metric and was not taken, and how it would be; printable.
  std::string TakeUntaken() { return std::exchange(untaken_, ""); }

 private:
  void Line(std::string_view line, WallTime time, PointSink& sink);
  void ByItself(std::string_view line, WallTime time, PointSink& sink);
  void Object(std::string_view line, WallTime time, PointSink& sink);
  void Keras(std::string_view line, WallTime time, PointSink& sink);
  void EndKeras(PointSink& sink);
  void Counted(std::string_view line, WallTime time, PointSink& sink);
  bool Waits(std::string_view line, WallTime time, PointSink& sink);
  void GiveWaiting(bool counted, PointSink& sink);
  void GiveRow(std::string_view line, WallTime time, PointSink& sink);
  void Emit(Kind kind, const Row& row, WallTime time, PointSink& sink);

  // A line that begins with what may be a date, "[3/14] loss=0.5", counts once another one is
  // further of the same whole; it waits for that.
  struct Leading {
    std::optional<Place> seen;  // the newest that may be a date
    bool is_date = false;       // as far as lines have shown: no more of it wait
    std::vector<std::pair<std::string, WallTime>> waiting;  // lines; all of that whole
    std::set<int64_t> wholes;                               // of which lines count
  };

  std::vector<Pattern> patterns_;
  std::array<std::string, 2> open_;  // lines that go on
  LineReader reader_;
  LineRow row_;  // of the line that is read
  LineNames names_;
  Leading leading_;
  KerasRow keras_;  // the newest of the epoch; the next epoch, or the end, sends it
  std::optional<int64_t> keras_epoch_;
  WallTime keras_time_;
  std::string untaken_;
  bool untaken_said_ = false;
  std::array<int64_t, kKinds> found_{};
};

// "log patterns", "JSON lines", …: for people.
std::string_view KindName(LogLines::Kind kind);

}  // namespace stoker::metrics
