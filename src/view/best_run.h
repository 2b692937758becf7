// SPDX-License-Identifier: Apache-2.0
// Which of several runs was the best, and what sets it apart. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "metrics/metric_totals.h"

namespace stoker {

struct RunOutcome {
  std::string id;
  std::map<std::string, std::string> settings;  // hyperparameters
  MetricTotals::Series metrics;
};

struct BestRun {
  // What the runs with one value of a setting came to.
  struct Group {
    std::string value;
    double median = 0;
    size_t runs = 0;
  };
  // A setting in which the runs differ.
  struct Setting {
    std::string name;
    std::string value;          // the best run's; "" = it has none
    std::vector<Group> groups;  // the best first
  };

  size_t index = 0;  // of the best
  std::string metric;
  bool greatest = false;  // is best; else the least
  double value = 0;
  int64_t step = 0;
  std::optional<size_t> next;  // the index of the second best
  double next_value = 0;
  size_t without = 0;             // runs that have no finite value of it
  std::vector<Setting> settings;  // that which tells good runs from bad ones best comes first
};

// `by`: a metric, whose direction its name tells (an accuracy is best at its greatest, and what
// sounds like one; anything else at its least), or min.METRIC or max.METRIC. "" = the one that
// most of them have, rather of held-out data, and rather a loss or an accuracy. nullopt: fewer than
// two runs have it.
std::optional<BestRun> FindBest(const std::vector<RunOutcome>& runs, const std::string& by);

// For people, several lines: which, by what, and what each setting did.
std::string BestText(const BestRun& best, const std::vector<RunOutcome>& runs);

// Whether a metric of this name is better the greater it is, by what it is called.
bool GreaterIsBetter(const std::string& metric);

}  // namespace stoker
