// SPDX-License-Identifier: Apache-2.0
// What a place's own accounting has counted of a job. Plain data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"

namespace stoker {

// One run of the place's own job, whose number is `job`.
struct CountedRun {
  int64_t job = 0;
  std::string name;
  std::string state;  // the place's word: "COMPLETED", "CANCELLED by 1000"
  Duration elapsed;
  // Of the allocation; nullopt: not counted (yet, or at all).
  std::optional<int64_t> nodes, cpus, gpus;
  bool operator==(const CountedRun&) const = default;
};

// What several runs took together.
struct CountedHours {
  size_t runs = 0;
  double nodes = 0, cpus = 0;
  std::optional<double> gpus;  // nullopt: GPUs are not counted there
};

struct CountedUse {
  std::vector<CountedRun> runs;
  CountedHours hours;
};

}  // namespace stoker
