// SPDX-License-Identifier: Apache-2.0
// The plan of a world with one long job on a calm cloud: what markets and recovery tiers are
// measured with.
#pragma once

#include "sim/world/plan.h"

namespace stoker::sim {

struct LongJob {
  int nodes = 1;
  int64_t train_ms = 36'000'000;  // of steps, when nothing happens
  int64_t step_ms = 10'000;       // a divisor of the two others
  int64_t checkpoint_every_ms = 600'000;
  int64_t start_ms = 20'000;  // from exec to the first step
  int64_t setup_ms = 60'000;
};

// Machines boot in 30 to 90 s and Describe is up to 5 s behind; no noise, no faults, no
// controllers: who asked for the plan adds them. The submitter leaves after one pass.
inline Plan PlanLongJob(const LongJob& job, uint64_t seed) {
  Plan plan;
  plan.seed = seed;
  plan.name = "long job";
  plan.calm = 0;
  plan.logs = false;
  plan.stale_ms = 5'000;
  plan.boot_low = 30'000;
  plan.boot_high = 90'000;
  JobPlan one;
  one.nodes = job.nodes;
  one.attached = false;
  one.program.steps = static_cast<int>(job.train_ms / job.step_ms);
  one.program.step_ms = job.step_ms;
  one.program.start_ms = job.start_ms;
  one.program.setup_ms = job.setup_ms;
  one.program.checkpoint_every = static_cast<int>(job.checkpoint_every_ms / job.step_ms);
  one.program.style = WriteStyle::kRename;
  one.program.write_ms = 0;
  one.program.every_rank_saves = false;
  one.program.lines_per_step = 0;
  plan.jobs.push_back(one);
  return plan;
}

}  // namespace stoker::sim
