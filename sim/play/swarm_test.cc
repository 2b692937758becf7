// SPDX-License-Identifier: Apache-2.0
#include "sim/play/swarm.h"

#include <gtest/gtest.h>

#include <string>

namespace stoker::sim {
namespace {

// Its own plan may have been calm earlier: then its landlord's noise is waited for, and so are the
// last wishes of those who move jobs, which alone let a job have any place (seed 410002037).
TEST(Swarm, ANeighboursLastMoveIsWhenTheAccountIsCalm) {
  int moved = 0;
  int later = 0;
  for (uint64_t seed = 1; seed <= 20'000; ++seed) {
    const Plan plan = DrawPlan(seed);
    if (plan.neighbour == 0) continue;
    const Plan own = DrawPlan(static_cast<uint64_t>(plan.neighbour));
    const Plan next = NeighbourOf(plan);
    for (size_t i = 0; i < next.jobs.size(); ++i) {
      const auto& moves = next.jobs[i].move_at;
      if (moves.empty()) continue;
      ++moved;
      later += own.calm < next.calm ? 1 : 0;
      EXPECT_GE(moves.back(), next.calm) << "seed " << seed;
      EXPECT_EQ(moves.back() - next.calm, own.jobs[i].move_at.back() - own.calm) << "seed " << seed;
    }
  }
  EXPECT_GT(moved, 10);
  EXPECT_GT(later, 5);
}

}  // namespace
}  // namespace stoker::sim
