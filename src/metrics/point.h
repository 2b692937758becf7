// SPDX-License-Identifier: Apache-2.0
// What a reader of metrics finds: points of named series, and hyperparameters. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"

namespace stoker::metrics {

struct Point {
  std::optional<int64_t> step;  // unset: the source names none, and the order counts
  double value = 0;             // may be NaN or infinite
  WallTime time;                // as the source has it; 0 = it has none
  bool by_epoch = false;        // what `step` counts are epochs
  int64_t epoch = -1;           // the source names it beside a step; -1 = it does not
  bool bar = false;             // a progress bar says it
};

// Takes what a reader finds, in the order of the source. Names are bytes of others.
class PointSink {
 public:
  virtual ~PointSink() = default;
  virtual void OnPoint(std::string_view name, const Point& point) = 0;
  // `json`: compact JSON text of the value.
  virtual void OnHyperparameter(std::string_view name, const std::string& json) = 0;
};

// Longer names are cut, with a hash of the whole behind them, so that two stay two. What is no
// UTF-8 is spelled out. Control characters stay: who shows a name makes it Printable.
inline constexpr size_t kMaxName = 200;
std::string SeriesName(std::string_view name);

}  // namespace stoker::metrics
