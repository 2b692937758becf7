// SPDX-License-Identifier: Apache-2.0
// A bucket with a past: jobs of several users that ended before the world begins, with everything
// that they left. They are nobody's plan and no checker's: what the jobs of the world are promised
// must hold beside them, and what is there must be found, listed and collected.
#pragma once

#include <string>
#include <vector>

#include "sim/world/world.h"

namespace stoker::sim {

// Before the world runs: Plan::past jobs, the blobs that they share with the jobs of the plan, and
// an index that was never merged.
void PlantPast(World& world);

// Words that users type for them: names, beginnings of ids, and nonsense.
std::vector<std::string> PastWords();

}  // namespace stoker::sim
