// SPDX-License-Identifier: Apache-2.0
// What other runs had come to at a step: for the rule about their median. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "metrics/curve.h"

namespace stoker::metrics {

// Of fewer there is no median that says something.
inline constexpr size_t kLeastOthers = 3;

// As Vizier's median stopping rule has it (Golovin et al. 2017, Google Vizier, section 3.2.2): of
// each run the mean of all its values up to the step. Not thread-safe.
class OtherRuns {
 public:
  struct Median {
    double value = 0;
    size_t runs = 0;
  };
  // What one other run has of a series; what was done again does not count.
  void Add(const std::string& series, const std::vector<CurveEntry>& curve);
  // Over the runs that have come to `step`; nullopt: they are fewer than kLeastOthers.
  std::optional<Median> At(const std::string& series, int64_t step) const;

 private:
  // For each entry of a curve: its last step, and the mean of the finite values up to there.
  using Means = std::vector<std::pair<int64_t, double>>;
  std::map<std::string, std::vector<Means>> series_;
};

}  // namespace stoker::metrics
