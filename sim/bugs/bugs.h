// SPDX-License-Identifier: Apache-2.0
// The deliberate bugs, the rules that each of them breaks, and the worlds in which it shows.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/world/plan.h"

namespace stoker::sim {

// The world of a seed; plans.cc.
using PlanOfSeed = Plan (*)(uint64_t seed);

struct Bug {
  std::string name;                // as in BugIsOn
  std::string mistake;             // what somebody did wrong
  std::vector<std::string> rules;  // one of these must not hold
  PlanOfSeed plan;
  int within = 100;  // seeds, from 1 on
};

std::vector<Bug> Bugs();

}  // namespace stoker::sim
