// SPDX-License-Identifier: Apache-2.0
#include "sim/bugs/plans.h"

#include "sim/swarm.h"

namespace stoker::sim {

Plan SmallPlan(uint64_t seed) { return DrawPlan(seed); }

}  // namespace stoker::sim
