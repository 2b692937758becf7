// SPDX-License-Identifier: Apache-2.0
// A seed's own mix: sizes, programs, users, controllers, noise and faults, so that rare
// combinations happen.
#pragma once

#include <cstdint>

#include "sim/plan.h"

namespace stoker::sim {

// Integer draws only: the same plan from the same seed everywhere.
Plan DrawPlan(uint64_t seed);

}  // namespace stoker::sim
