// SPDX-License-Identifier: Apache-2.0
// Worlds for the deliberate bugs.
#pragma once

#include <cstdint>

#include "sim/plan.h"

namespace stoker::sim {

// The swarm's world of this seed, made small: the same mix of sizes, noise and faults, in a tenth
// of the time.
Plan SmallPlan(uint64_t seed);

}  // namespace stoker::sim
