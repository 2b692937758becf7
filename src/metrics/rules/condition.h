// SPDX-License-Identifier: Apache-2.0
// One rule on one series, point by point. Pure.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "metrics/entries.h"
#include "metrics/rules/other_runs.h"
#include "metrics/rules/rule.h"

namespace stoker::metrics {

// So many points in a row that are smaller than this are gradients that have vanished (as SageMaker
// Debugger's VanishingGradient has its threshold).
inline constexpr int64_t kVanishedFor = 20;
inline constexpr double kVanished = 1e-7;
// So many points in a row that are not finite, or so many times the median of up to kUsual points
// before them (of at least kLeastUsual), are gradients that explode. One alone is none: loss
// scaling in half precision makes them.
inline constexpr int64_t kExplodedFor = 3;
inline constexpr double kExploded = 1000;
inline constexpr size_t kUsual = 100;
inline constexpr size_t kLeastUsual = 10;
// So many points of its own a run has before it is compared with others, unless the rule says from
// which step on: first ones differ by luck.
inline constexpr int64_t kLeastOwn = 5;

// Stepped; holds at most a few thousand numbers.
class Condition {
 public:
  explicit Condition(const Rule& rule) : rule_(rule) {}
  // The next point of the curve, or a bucket of what came before. `trained`: milliseconds of
  // training since the series began. What it proves, with its numbers: "nan at step 120".
  // `median`: of other runs at its step, where a rule about it knows one.
  std::optional<std::string> Take(const Entry& entry, int64_t trained,
                                  const std::optional<OtherRuns::Median>& median = {});

 private:
  using Said = std::optional<std::string>;
  Said NotFinite(const Entry& entry) const;
  Said Limit(const Entry& entry) const;
  Said Worse(const Entry& entry, const std::optional<OtherRuns::Median>& median);
  Said Stale(const Entry& entry, int64_t trained);
  Said First(const Entry& entry, int64_t trained);
  Said Grows(const Entry& entry);
  Said Vanish(const Entry& entry);
  Said Explode(const Entry& entry);
  // How far the span that began there has come.
  int64_t Passed(int64_t step, int64_t points, int64_t trained) const;
  void Keep(double value);

  const Rule rule_;
  bool begun_ = false;
  int64_t first_step_ = 0;
  int64_t points_ = 0;  // in all
  // kStale, kGrows, kMedian: the best so far, and where it stands on each axis.
  std::optional<double> best_;
  int64_t best_step_ = 0;
  int64_t best_points_ = 0;
  int64_t best_trained_ = 0;
  // kFirst: the values, each the mean of as many as `joined_` but the last, until it is decided.
  bool decided_ = false;
  std::vector<double> values_;
  size_t joined_ = 1;
  size_t in_last_ = 0;
  // kVanish, kExplode.
  int64_t row_ = 0;
  std::deque<double> usual_;
};

}  // namespace stoker::metrics
