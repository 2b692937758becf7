// SPDX-License-Identifier: Apache-2.0
// Finds metrics in what a program prints. Pure, stepped.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "metrics/patterns.h"
#include "metrics/point.h"
#include "metrics/text_rows.h"

namespace stoker::metrics {

// With patterns, what they find, and nothing else. Without any: JSON objects, Python dicts, Keras's
// progress lines, and lines that begin with the count of an epoch or step; of the first two those
// that name a step or epoch, or hold numbers alone.
class LogLines {
 public:
  enum class Kind { kPattern, kJson, kDict, kKeras, kCounted };
  static constexpr size_t kKinds = 5;

  explicit LogLines(std::vector<Pattern> patterns) : patterns_(std::move(patterns)) {}

  // One record of the log (ledger/log/log_record.h): `stream` 0 or 1, `continues` where its line
  // goes on in the next record of the stream.
  void Record(int stream, bool continues, std::string_view text, WallTime time, PointSink& sink);
  // What waits for more that does not come.
  void Finish(PointSink& sink);
  // How many points of each kind have been found.
  const std::array<int64_t, kKinds>& found() const { return found_; }

 private:
  class Counting;
  void Line(std::string_view line, WallTime time, PointSink& sink);
  void ByItself(std::string_view line, WallTime time, PointSink& sink);
  void Emit(Kind kind, const Row& row, std::optional<int64_t> step, WallTime time, PointSink& sink);

  std::vector<Pattern> patterns_;
  std::array<std::string, 2> open_;  // lines that go on
  std::optional<int64_t> epoch_;     // Keras's
  Row keras_;  // the newest of the epoch; the next epoch, or the end, sends it
  WallTime keras_time_;
  std::array<int64_t, kKinds> found_{};
};

// Without patterns nothing is found in this line, which is none of several records, where it is
// false; true says little. For those who have very many lines.
bool MayHoldMetrics(std::string_view line);
// The same is false of each line of this text.
bool IsPlain(std::string_view text);

// "log patterns", "JSON lines", …: for people.
std::string_view KindName(LogLines::Kind kind);

}  // namespace stoker::metrics
