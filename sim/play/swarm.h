// SPDX-License-Identifier: Apache-2.0
// A seed's own mix: sizes, programs, users, controllers, noise and faults, so that rare
// combinations happen.
#pragma once

#include <cstdint>

#include "sim/world/plan.h"

namespace stoker::sim {

// Integer draws only: the same plan from the same seed everywhere.
Plan DrawPlan(uint64_t seed);

// What DrawPlan adds to a world in the end, drawn for itself: users of the rarer verbs, a bucket
// with a past, damage to what lies in it, programs that cannot even begin. swarm_ledger.cc.
void DrawLedger(uint64_t seed, Plan* plan);

// And what else is in the account: machines of somebody else, another ledger, prices, a sweeper.
// swarm_account.cc.
void DrawAccount(uint64_t seed, Plan* plan);
void DrawAway(uint64_t seed, Plan* plan);

// What the other ledger of `plan`, which has one, does on the same platform.
Plan NeighbourOf(const Plan& plan);

}  // namespace stoker::sim
