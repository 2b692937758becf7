// SPDX-License-Identifier: Apache-2.0
// Worlds that a function of the cloud looks after, and nobody else until somebody looks much later.
#include "sim/bugs/draw.h"
#include "sim/bugs/plans.h"

namespace stoker::sim {
namespace {

Draw Away(uint64_t seed) {
  Draw draw(seed);
  draw.plan.tier = Tier::kVerbs;
  draw.plan.calm = 1'200'000;
  draw.plan.limit = 12LL * 3'600'000;
  ControllerPlan function;
  function.kind = ControllerKind::kAway;
  function.period = draw.Long(20'000, 60'000);
  function.late = draw.Long(0, 20'000);
  function.doubled = draw.Int(0, 300);
  function.lost = draw.Int(0, 1'000);
  function.at_once = draw.Int(1, 3);
  function.machines = 4;
  draw.plan.controllers = {function, {ControllerKind::kVerb, 3LL * 3'600'000, -1, 60'000}};
  draw.job().attached = false;
  draw.job().program.steps = draw.Int(200, 400);
  draw.job().program.step_ms = 1'000;
  return draw;
}

ControllerPlan& Function(Draw& draw) { return draw.plan.controllers.front(); }

FaultPlan Kill(Draw& draw, int count) {
  FaultPlan kill;
  kill.kind = "kill";
  kill.on = "attempt-running";
  kill.after_ms = draw.Long(5'000, 60'000);
  kill.count = count;
  return kill;
}

}  // namespace

Plan AwayAlone(uint64_t seed) {
  Draw draw = Away(seed);
  draw.plan.faults = {Kill(draw, 2)};
  return draw.plan;
}

Plan AwayCrashes(uint64_t seed) {
  Draw draw = Away(seed);
  draw.plan.limit = 1'800'000;
  draw.job().program.crash_at = 3;
  draw.job().program.checkpoint_every = 2;
  draw.job().max_restarts_on_errors = 2;
  return draw.plan;
}

Plan AwayShort(uint64_t seed) {
  Draw draw = Away(seed);
  const int jobs = draw.Int(2, 3);
  for (int i = 1; i < jobs; ++i) {
    JobPlan job = draw.job();
    job.submit_at = draw.Long(0, 20'000);
    draw.plan.jobs.push_back(job);
  }
  draw.plan.describe_is_immediate = false;
  draw.plan.stale_ms = draw.Long(60'000, 110'000);
  Function(draw).machines = 1;
  Function(draw).doubled = 1'000;
  Function(draw).lost = 0;
  Function(draw).at_once = 3;
  draw.plan.faults = {Kill(draw, 3)};
  return draw.plan;
}

Plan AwayLarge(uint64_t seed) {
  Draw draw = Away(seed);
  draw.job().large = true;
  draw.plan.faults = {Kill(draw, 1)};
  return draw.plan;
}

Plan AwayDear(uint64_t seed) {
  Draw draw = Away(seed);
  draw.plan.zones[0].price = 3'000'000;
  draw.job().any_zone = 1;
  Function(draw).price = 2'000'000;
  draw.plan.faults = {Kill(draw, 1)};
  return draw.plan;
}

Plan AwayCutOff(uint64_t seed) {
  Draw draw = Away(seed);
  draw.plan.describe_is_immediate = true;
  draw.plan.calm = 100'000;
  FaultPlan cut;
  cut.kind = "cut";
  cut.on = "attempt-running";
  cut.after_ms = draw.Long(5'000, 20'000);
  cut.amount = 3'600'000;
  draw.plan.faults = {cut};
  return draw.plan;
}

Plan AwayLookAlikes(uint64_t seed) {
  Draw draw = Away(seed);
  draw.plan.lists_all = draw.One(2);
  draw.job().program.steps = 1'500;
  Function(draw).machines = 8;
  for (int i = 0; i < 3; ++i) {
    FaultPlan foreigner;
    foreigner.kind = "foreigner";
    foreigner.at = draw.Long(30'000, 60'000);
    foreigner.amount = 7'200'000;
    draw.plan.faults.push_back(foreigner);
  }
  draw.plan.faults.push_back(Kill(draw, 1));
  return draw.plan;
}

}  // namespace stoker::sim
