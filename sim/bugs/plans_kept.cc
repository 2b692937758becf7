// SPDX-License-Identifier: Apache-2.0
// Worlds of jobs that fail, and whose machines are to be kept for a while.
#include "sim/bugs/draw.h"
#include "sim/bugs/plans.h"

namespace stoker::sim {

Plan FailsAndIsKept(uint64_t seed) {
  Draw draw(seed);
  if (draw.One(2)) draw.Gang();
  JobPlan& job = draw.job();
  job.program.crash_at = draw.Int(2, 20);
  job.keep_failed = Duration::Ms(draw.Long(200'000, 600'000));
  draw.plan.limit = 1'800'000;
  draw.Daemons(1);
  return draw.plan;
}

Plan CancelledAsItFails(uint64_t seed) {
  Plan plan = ManyHands(seed);
  plan.jobs.front().keep_failed = Duration::Minutes(10);
  return plan;
}

}  // namespace stoker::sim
