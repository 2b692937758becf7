// SPDX-License-Identifier: Apache-2.0
// The least plan that still breaks the same rule: whoever reads it sees what matters.
#pragma once

#include <functional>
#include <string>

#include "sim/world/plan.h"

namespace stoker::sim {

struct Shrunk {
  Plan plan;
  std::string rule;  // "" = the plan broke none
  int tries = 0;     // worlds that were run
};

// `breaks` runs a plan and names the rule that it breaks, "" = none. Leaves out faults,
// controllers, jobs and noise, makes what is left smaller and plainer, and begins again, until
// nothing more can go or `most_tries` worlds have run. `told` hears of progress; may be null.
Shrunk Shrink(const Plan& plan, const std::function<std::string(const Plan&)>& breaks,
              int most_tries, const std::function<void(const std::string&)>& told = nullptr);

}  // namespace stoker::sim
