// SPDX-License-Identifier: Apache-2.0
// Worlds of programs whose saves are hard to tell.
#include "sim/bugs/draw.h"
#include "sim/bugs/plans.h"

namespace stoker::sim {

// As seed 14000064310 of the swarm, shrunk. No name tells one save from another, and each rests for
// longer than ten times `quiet`.
Plan SeldomAsked(uint64_t seed) {
  Draw draw(seed);
  draw.Gang();
  draw.plan.poll = Duration::Ms(draw.Long(11'000, 16'000));
  JobPlan& job = draw.job();
  job.quiet = Duration::Ms(draw.Long(100, 200));
  job.program.style = draw.One(2) ? WriteStyle::kInPlace : WriteStyle::kRename;
  job.program.steps = draw.Int(60, 120);
  job.program.step_ms = 1'000;
  job.program.checkpoint_every = draw.Int(4, 6);
  job.program.write_ms = 0;
  return draw.plan;
}

// Two files in each save, with a pause between them that may be longer than `quiet`; often killed.
Plan SavesTwoFiles(uint64_t seed) {
  Draw draw(seed);
  JobPlan& job = draw.job();
  job.quiet = Duration::Ms(draw.Long(200, 600));
  ProgramPlan& program = job.program;
  program.style = WriteStyle::kTwoFiles;
  program.steps = draw.Int(150, 250);
  program.step_ms = 300;
  program.checkpoint_every = draw.Int(8, 20);
  program.write_ms = draw.Long(500, 2'000);
  draw.Faults("notice", 4, 5'000, 60'000);
  return draw.plan;
}

Plan SavesWhenTold(uint64_t seed) {
  Draw draw(seed);
  JobPlan& job = draw.job();
  ProgramPlan& program = job.program;
  program.on_term = draw.One(3)   ? OnTerm::kPassesOn
                    : draw.One(2) ? OnTerm::kSavesAndFails
                                  : OnTerm::kSavesAndSucceeds;
  program.steps = draw.Int(150, 250);
  program.step_ms = 300;
  program.checkpoint_every = draw.Int(20, 40);
  program.write_ms = draw.Long(500, 3'000);
  job.stop_grace = Duration::Seconds(draw.Int(15, 30));
  draw.Faults("notice", 3, 15'000, 60'000);
  return draw.plan;
}

}  // namespace stoker::sim
