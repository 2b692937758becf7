// SPDX-License-Identifier: Apache-2.0
#include "metrics/trackers/mlflow_lines.h"

#include <utility>

#include "base/text.h"
#include "metrics/numbers.h"

namespace stoker::metrics {
namespace {

std::optional<Point> PointOf(std::string_view line) {
  const std::vector<std::string> words = Split(Bare(line), ' ');
  // Since MLflow 3, a name and a digest of the data may follow; long ago there was no step.
  if (words.size() < 2) return std::nullopt;
  const auto time = WholeNumber(words[0], INT64_MIN / 2, INT64_MAX / 2);
  const auto value = ParseNumber(words[1]);
  const auto step = words.size() < 3 ? std::optional<int64_t>(0)
                                     : WholeNumber(words[2], INT64_MIN / 2, INT64_MAX / 2);
  if (!time || !value || !step) return std::nullopt;
  Point point;
  point.value = *value;
  point.step = *step;
  // In seconds, long ago.
  if (*time > 0) point.time.ms = *time < 100'000'000'000 ? *time * 1000 : *time;
  return point;
}

}  // namespace

void MlflowReader::Feed(std::string_view bytes, PointSink& sink) {
  offset_ += static_cast<int64_t>(bytes.size());
  while (!bytes.empty()) {
    const size_t end = bytes.find('\n');
    if (line_.size() <= kMaxLine) line_.append(bytes.substr(0, end));
    if (end == bytes.npos) return;
    TakeLine(sink);
    line_.clear();
    bytes.remove_prefix(end + 1);
  }
}

void MlflowReader::TakeLine(PointSink& sink) {
  if (Bare(line_).empty()) return;
  std::optional<Point> point = line_.size() > kMaxLine ? std::nullopt : PointOf(line_);
  if (!point) {
    ++damaged_;
    return;
  }
  if (!std::exchange(begun_, true) && *point->step == 0) {
    held_ = *point;
    return;
  }
  if (held_) {
    stepless_ = *point->step == 0;
    Give(*std::exchange(held_, std::nullopt), sink);
  }
  Give(*point, sink);
}

void MlflowReader::Give(const Point& point, PointSink& sink) {
  if (++given_ <= known_) return;
  Point one = point;
  if (stepless_) one.step.reset();
  sink.OnPoint(name_, one);
}

void MlflowReader::Finish(PointSink& sink) {
  if (!held_) return;
  stepless_ = true;
  Give(*std::exchange(held_, std::nullopt), sink);
}

}  // namespace stoker::metrics
