// SPDX-License-Identifier: Apache-2.0
// Worlds of machines that nobody lends: nodes of a cluster that Slurm runs, boxes that ssh reaches.
// What the providers' own code makes of them is tested beside it; here is what it tells.
#include "sim/bugs/draw.h"
#include "sim/bugs/plans.h"

namespace stoker::sim {
namespace {

constexpr int64_t kDay = 86'400'000;

FaultPlan On(const char* kind, const char* on, int64_t after, int64_t amount) {
  FaultPlan fault;
  fault.kind = kind;
  fault.on = on;
  fault.after_ms = after;
  fault.amount = amount;
  return fault;
}

// As provider/slurm: all nodes in one request, ended only together, answers of this moment.
Draw Cluster(uint64_t seed) {
  Draw draw(seed);
  draw.plan.describe_is_immediate = true;
  draw.plan.takes_gangs = true;
  draw.plan.ends_one_alone = false;
  draw.plan.calm = 1'200'000;
  draw.job().program.steps = draw.Int(200, 400);
  draw.job().program.step_ms = 1'000;
  draw.Daemons(1);
  return draw;
}

}  // namespace

Plan QueuedForDays(uint64_t seed) {
  Draw draw = Cluster(seed);
  draw.plan.limit = 40 * kDay;
  draw.plan.cloud.queues = 1'000;
  draw.plan.cloud.queue_ms = 4 * kDay;
  draw.plan.calm = 16 * kDay;
  // What looks for days looks seldom.
  draw.plan.controllers = {{ControllerKind::kTimer, 0, -1, 3'600'000}};
  draw.job().attached = false;
  FaultPlan limit = On("time-limit", "attempt-running", draw.Long(20'000, 60'000), 60'000);
  limit.count = 2;
  draw.plan.faults = {limit};
  return draw.plan;
}

Plan Scancelled(uint64_t seed) {
  Draw draw = Cluster(seed);
  draw.plan.cloud.queues = 500;
  draw.plan.cloud.queue_ms = 600'000;
  if (draw.One(2)) draw.Gang();
  const char* const what = draw.One(2) ? "scancel" : "scancel-queued";
  FaultPlan end = On(what, "", 0, 0);
  end.at = draw.Long(30'000, 200'000);
  draw.plan.faults = {end};
  return draw.plan;
}

Plan Requeued(uint64_t seed) {
  Draw draw = Cluster(seed);
  draw.plan.calm = 300'000;
  if (draw.One(2)) draw.Gang();
  // Back at once, or long after the job is over.
  const int64_t queue = draw.One(2) ? draw.Long(1'000, 60'000) : draw.Long(2'400'000, 3'600'000);
  FaultPlan again = On("requeue", "attempt-running", draw.Long(1'000, 60'000), queue);
  again.count = 2;
  draw.plan.faults = {again};
  return draw.plan;
}

Plan ReplacedWhole(uint64_t seed) {
  Draw draw = Cluster(seed);
  draw.Gang();
  FaultPlan kill = On("kill", "attempt-running", draw.Long(5'000, 60'000), 0);
  kill.count = 2;
  FaultPlan cut = On("cut", "attempt-running", draw.Long(5'000, 60'000), 150'000);
  draw.plan.faults = {kill, cut};
  return draw.plan;
}

Plan BehindSqueue(uint64_t seed) {
  Draw draw = Cluster(seed);
  draw.plan.describe_is_immediate = false;
  draw.plan.stale_ms = 60'000;
  draw.plan.cloud.holes = 200;
  if (draw.One(2)) draw.Gang();
  draw.Daemons(2);
  FaultPlan kill = On("kill", "attempt-running", draw.Long(20'000, 60'000), 0);
  kill.count = 2;
  draw.plan.faults = {kill};
  return draw.plan;
}

Plan TwinsOfWhichOneDies(uint64_t seed) {
  Draw draw(seed);
  draw.plan.cloud.doubled = 900;
  draw.plan.cloud.after = 500;
  draw.plan.describe_is_immediate = false;
  draw.plan.stale_ms = draw.Long(30'000, 60'000);
  draw.plan.boot_high = 3'000;
  draw.job().program.steps = draw.Int(100, 200);
  draw.Daemons(2);
  draw.plan.faults = {On("kill", "attempt-running", 0, 0)};
  draw.Faults("kill", 2, 0, 0);
  return draw.plan;
}

Plan SentAround(uint64_t seed) {
  Draw draw(seed);
  draw.plan.zones = {{"zone-a"}, {"zone-b"}};
  draw.plan.zones[1].provider = "ec2";
  draw.plan.zones[0].provider = "local";
  draw.plan.calm = 400'000;
  if (draw.One(2)) draw.Gang();
  draw.job().any_zone = 1;
  draw.job().program.steps = draw.Int(200, 300);
  draw.job().program.step_ms = 1'000;
  draw.job().move_at = {draw.Long(10'000, 60'000), draw.Long(90'000, 120'000),
                        draw.Long(150'000, 200'000)};
  draw.Daemons(1);
  return draw.plan;
}

Plan BoxesCutOff(uint64_t seed) {
  Draw draw(seed);
  draw.plan.describe_is_immediate = true;
  draw.plan.calm = 2'400'000;
  if (draw.One(2)) draw.Gang();
  draw.job().program.steps = draw.Int(400, 700);
  draw.job().program.step_ms = 1'000;
  draw.job().program.checkpoint_every = 20;
  draw.Daemons(1);
  const int64_t away = draw.Long(30'000, 400'000);
  FaultPlan cut = On("box-away", "attempt-running", draw.Long(10'000, 60'000), away);
  cut.count = 2;
  draw.plan.faults = {cut};
  if (draw.One(2)) {
    const int64_t after = draw.Long(5'000, 200'000);
    draw.plan.faults.push_back(On("box-reboots", "attempt-running", after, 60'000));
  }
  return draw.plan;
}

Plan MayNotLater(uint64_t seed) {
  Plan plan = SomeMayNot(seed);
  plan.cloud.denied = 200;
  plan.jobs.front().attached = true;
  return plan;
}

}  // namespace stoker::sim
