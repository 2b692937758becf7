// SPDX-License-Identifier: Apache-2.0
// Reads a file of MLflow's file store, mlruns/EXPERIMENT/RUN/metrics/NAME, as it grows: a line
// "MILLISECONDS VALUE STEP" a point (mlflow/store/tracking/file_store.py). Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "metrics/point.h"

namespace stoker::metrics {

// Stepped. log_metric() without a step writes step 0 each time: a second 0 shows that none was
// given, and the order counts. Until then a first 0 is held.
class MlflowReader {
 public:
  // Gives nothing of the first `known` lines: another reader had them.
  MlflowReader(std::string name, int64_t known) : name_(std::move(name)), known_(known) {}

  // From the file's beginning on.
  void Feed(std::string_view bytes, PointSink& sink);
  // No more comes: a point that is held has no step.
  void Finish(PointSink& sink);

  int64_t given() const { return given_ > known_ ? given_ : known_; }  // lines
  int64_t offset() const { return offset_; }                           // bytes so far
  int64_t damaged() const { return damaged_; }                         // lines that are none

 private:
  void TakeLine(PointSink& sink);
  void Give(const Point& point, PointSink& sink);

  static constexpr size_t kMaxLine = 1000;
  const std::string name_;
  const int64_t known_;
  std::string line_;
  int64_t given_ = 0;
  int64_t offset_ = 0;
  int64_t damaged_ = 0;
  bool begun_ = false;
  bool stepless_ = false;
  std::optional<Point> held_;
};

}  // namespace stoker::metrics
