// SPDX-License-Identifier: Apache-2.0
// Every draw is a statement of its own: the order of draws is the order of the text.
#include "sim/bugs/plans.h"

#include "sim/bugs/draw.h"

namespace stoker::sim {
namespace {

void Take(Draw* draw) {
  draw->Faults("notice", 2, 3'000, 40'000);
  draw->Faults("kill-program", 2, 0, 0);
  draw->Faults("kill", 1, 0, 0);
  draw->Faults("withdraw", draw->Int(0, 1), 10'000, 40'000);
  draw->job().program.write_ms = draw->Long(300, 900);
}

}  // namespace

Plan GoodDay(uint64_t seed) {
  Draw draw(seed);
  draw.Daemons(1);
  return draw.plan;
}

Plan BadNetwork(uint64_t seed) {
  Draw draw(seed);
  draw.StoreNoise(60);
  draw.CloudNoise(100);
  draw.Daemons(2);
  return draw.plan;
}

Plan DeafProvider(uint64_t seed) {
  Draw draw(seed);
  draw.plan.describe_is_immediate = true;
  draw.CloudNoise(100);
  draw.Daemons(1);
  draw.Faults("notice", 2, 3'000, 40'000);
  return draw.plan;
}

Plan HolesInLists(uint64_t seed) {
  Draw draw(seed);
  draw.plan.describe_is_immediate = false;
  draw.plan.cloud.holes = 200;
  draw.plan.boot_high = 2'000;
  draw.Daemons(1);
  return draw.plan;
}

Plan TimerAlone(uint64_t seed) {
  Draw draw(seed);
  draw.job().attached = false;
  draw.plan.tier = Tier::kTimer;
  draw.plan.controllers = {{ControllerKind::kTimer, draw.Long(0, 60'000), -1, 60'000}};
  draw.job().program.steps = 400;
  draw.Faults("hang", 1, 40'000'000, 80'000'000);
  draw.plan.faults.front().at = draw.Long(70'000, 130'000);
  return draw.plan;
}

Plan TimerAndOutages(uint64_t seed) {
  Draw draw(seed);
  draw.job().attached = false;
  draw.plan.calm = 1'800'000;
  draw.plan.tier = Tier::kTimer;
  draw.plan.controllers = {{ControllerKind::kTimer, draw.Long(0, 60'000), -1, 60'000}};
  draw.job().program.steps = 1'800;
  draw.job().program.step_ms = 1'000;
  draw.plan.report = Duration::Seconds(20);
  int64_t at = 130'000;
  for (int i = 0; i < 8; ++i) {
    draw.Faults("store-away", 1, 95'000, 110'000);
    draw.plan.faults.back().at = at;
    // In pairs: a look comes into the moment between the two more often than a report does.
    const int64_t moment = draw.Long(2'000, 6'000);
    at += draw.plan.faults.back().amount + (i % 2 == 0 ? moment : 150'000);
  }
  return draw.plan;
}

Plan NobodyLooks(uint64_t seed) {
  Draw draw(seed);
  draw.job().attached = false;
  draw.job().program.steps = 200;
  draw.job().program.step_ms = 1'000;
  draw.plan.tier = Tier::kVerbs;
  draw.plan.controllers = {{ControllerKind::kDaemon, 0, 100'000, 3'000},
                           {ControllerKind::kVerb, 2LL * 3'600'000, -1, 60'000}};
  return draw.plan;
}

Plan NobodyBegins(uint64_t seed) {
  Draw draw(seed);
  draw.plan.zones = {{"zone-a"}, {"zone-b"}};
  draw.job().any_zone = 1;
  draw.job().attached = false;
  if (draw.One(2)) draw.Gang();
  draw.plan.tier = Tier::kVerbs;
  draw.plan.controllers = {{ControllerKind::kVerb, 3LL * 3'600'000, -1, 60'000}};
  return draw.plan;
}

Plan FullZone(uint64_t seed) {
  Draw draw(seed);
  draw.plan.zones = {{"zone-a", 0}, {"zone-b"}};
  draw.job().any_zone = 1;
  draw.plan.limit = 1'800'000;  // with a bug these worlds are full of requests
  return draw.plan;
}

Plan FullZoneToldLate(uint64_t seed) {
  Plan plan = FullZone(seed);
  plan.cloud.late_refusals = 1'000;
  plan.calm = plan.limit;  // to the end
  return plan;
}

Plan DeadBirths(uint64_t seed) {
  Draw draw(seed);
  draw.plan.calm = 3LL * 3'600'000;
  draw.plan.cloud.dead_births = 1'000;
  return draw.plan;
}

Plan GangOfTwoZones(uint64_t seed) {
  Draw draw(seed);
  draw.Gang();
  draw.plan.zones = {{"zone-a", draw.job().nodes}, {"zone-b"}};
  draw.job().any_zone = 1;
  draw.Faults("notice", 3, 20'000, 40'000);
  return draw.plan;
}

FaultPlan AsItAsks(const char* kind, int which, int64_t amount) {
  FaultPlan fault;
  fault.kind = kind;
  fault.on = "launch-requested";
  fault.who = "cause";
  fault.number = which;
  fault.amount = amount;
  return fault;
}

// Who asks once more dies of it. What comes queues, and lists miss it for a while, while another
// place is free.
Plan RefusedThenSilent(uint64_t seed) {
  Draw draw(seed);
  draw.Gang();
  draw.plan.zones = {{"zone-a"}, {"zone-b"}};
  draw.plan.describe_is_immediate = false;
  draw.plan.stale_ms = 5'000;
  draw.plan.cloud.queues = 1'000;
  draw.plan.calm = 900'000;
  draw.job().any_zone = 1;
  draw.Daemons(3);
  draw.plan.cloud.holes = draw.One(2) ? 900 : 60;
  draw.plan.cloud.hole_ms = 85'000;
  draw.plan.cloud.no_capacity = 600;
  draw.plan.cloud.after = 100;
  draw.plan.latency_high = draw.Long(1'000, 20'000);
  for (int i = 1; i <= 6; ++i) {
    if (draw.One(3)) draw.plan.faults.push_back(AsItAsks("kill-cause", i, 30'000));
  }
  return draw.plan;
}

Plan LongQueue(uint64_t seed) {
  Draw draw(seed);
  draw.plan.cloud.queues = 1'000;
  draw.plan.cloud.queue_ms = 7'200'000;
  return draw.plan;
}

// The job is cancelled while its machine is on its way; that is stopped as it comes.
Plan LateAndStopped(uint64_t seed) {
  Draw draw(seed);
  draw.plan.describe_is_immediate = true;
  draw.plan.boot_high = 1'000;
  draw.plan.calm = 400'000;
  draw.job().attached = false;
  draw.job().cancel_at = {draw.Long(1'000, 20'000)};
  draw.plan.cloud.late = 700;
  draw.plan.cloud.late_ms = 60'000;
  draw.plan.cloud.never_boots = 100;
  FaultPlan stop;
  stop.kind = "stop";
  stop.on = "machine-up";
  stop.after_ms = draw.Long(0, 500);
  stop.count = 5;
  draw.plan.faults.push_back(stop);
  return draw.plan;
}

Plan Stopped(uint64_t seed) {
  Draw draw(seed);
  draw.plan.can_start = true;
  draw.plan.calm = 400'000;
  draw.job().program.steps = draw.Int(350, 400);
  draw.job().program.step_ms = 1'000;
  FaultPlan stop;
  stop.kind = "stop";
  stop.at = draw.Long(200'000, 300'000);
  draw.plan.faults.push_back(stop);
  return draw.plan;
}

Plan Restarts(uint64_t seed) {
  Draw draw(seed);
  draw.plan.can_start = true;
  draw.plan.restarts = true;
  draw.plan.calm = 400'000;
  draw.job().program.steps = draw.Int(200, 300);
  draw.job().program.step_ms = 1'000;
  draw.Daemons(2);
  draw.Faults("notice", 2, 10'000, 60'000);
  return draw.plan;
}

Plan NeverUpAgain(uint64_t seed) {
  Draw draw(seed);
  draw.plan.can_start = true;
  draw.plan.restarts = true;
  draw.plan.calm = 2 * draw.plan.limit;  // it never is
  draw.plan.cloud.starts_fail = 1'000;
  draw.plan.cloud.starts_mute = 1'000;
  draw.job().program.steps = draw.Int(350, 400);
  draw.job().program.step_ms = 1'000;
  draw.Faults("stop", 2, 0, 0);
  return draw.plan;
}

Plan DeadOnArrival(uint64_t seed) {
  Draw draw(seed);
  draw.plan.cloud.never_boots = 500;
  return draw.plan;
}

Plan LateWrites(uint64_t seed) {
  Draw draw(seed);
  draw.plan.describe_is_immediate = true;
  draw.plan.boot_high = 500;
  draw.Daemons(2);
  draw.plan.bucket.late = 200;
  draw.job().program.checkpoint_every = 1;
  draw.job().program.steps = 100;
  draw.job().quiet = Duration::Ms(200);
  draw.job().program.pause_ms = 100;
  draw.job().program.write_ms = 60;
  draw.Faults("kill", 8, 0, 0);
  return draw.plan;
}

Plan Taken(uint64_t seed) {
  Draw draw(seed);
  Take(&draw);
  return draw.plan;
}

Plan TakenGang(uint64_t seed) {
  Draw draw(seed);
  draw.Gang();
  Take(&draw);
  return draw.plan;
}

Plan GangPlace(uint64_t seed) {
  Plan plan = TakenGang(seed);
  plan.takes_gangs = true;
  return plan;
}

Plan WholeGangs(uint64_t seed) {
  Plan plan = GangPlace(seed);
  plan.ends_one_alone = false;
  return plan;
}

Plan ForbiddenGang(uint64_t seed) {
  Draw draw(seed);
  draw.Gang();
  draw.plan.takes_gangs = true;
  draw.plan.calm = draw.plan.limit;  // to the end
  draw.plan.cloud.malformed = 1'000;
  draw.Daemons(1);
  return draw.plan;
}

Plan CutOff(uint64_t seed) {
  Draw draw(seed);
  draw.plan.calm = 260'000;
  draw.job().program.steps = 400;
  draw.job().program.checkpoint_every = 20;
  draw.CloudNoise(250);
  draw.Faults("cut", 2, 100'000, 200'000);
  draw.Faults("pause-agent", 1, 100'000, 200'000);
  return draw.plan;
}

Plan CutOffGang(uint64_t seed) {
  Plan plan = CutOff(seed);
  plan.takes_gangs = true;
  plan.ends_one_alone = false;
  JobPlan& job = plan.jobs.front();
  job.nodes = 3;
  job.program.every_rank_saves = true;
  job.program.on_term = OnTerm::kDies;
  return plan;
}

Plan WithdrawnUnheard(uint64_t seed) {
  Draw draw(seed);
  draw.plan.calm = 1'000'000;
  draw.plan.describe_is_immediate = true;
  // Nobody ends the machine after its attempt has been given up.
  draw.plan.tier = Tier::kVerbs;
  draw.job().attached = false;
  draw.plan.controllers = {{ControllerKind::kDaemon, 0, 150'000, 3'000},
                           {ControllerKind::kVerb, draw.plan.calm, -1, 60'000}};
  draw.job().program.steps = 1'400;
  draw.job().program.step_ms = 1'000;
  draw.job().program.checkpoint_every = 40;
  FaultPlan withdraw;
  withdraw.kind = "withdraw";
  withdraw.target = 0;
  withdraw.at = draw.Long(20'000, 30'000);
  withdraw.amount = 20'000;
  FaultPlan cut;
  cut.kind = "cut";
  cut.target = 0;
  cut.at = withdraw.at + draw.Long(4'000, 9'000);
  cut.amount = 900'000;
  draw.plan.faults = {withdraw, cut};
  return draw.plan;
}

Plan TwinMachines(uint64_t seed) {
  Draw draw(seed);
  draw.plan.cloud.doubled = 900;
  draw.plan.cloud.after = 300;
  draw.plan.describe_is_immediate = false;
  draw.plan.stale_ms = draw.Long(2'000, 10'000);
  draw.plan.boot_high = 2'000;
  draw.Daemons(2);
  return draw.plan;
}

Plan CrashingProgram(uint64_t seed) {
  Draw draw(seed);
  draw.plan.limit = 360'000;
  draw.plan.describe_is_immediate = true;
  draw.job().program.crash_at = draw.Int(1, 10);
  draw.job().max_restarts_on_errors = 1;
  return draw.plan;
}

Plan PoisonedCheckpoint(uint64_t seed) {
  Draw draw(seed);
  draw.job().program.poisoned_step = draw.job().program.checkpoint_every * draw.Int(1, 3);
  draw.Faults("kill", 3, 0, 0);
  return draw.plan;
}

Plan HangingProgram(uint64_t seed) {
  Draw draw(seed);
  draw.plan.limit = 900'000;
  draw.plan.describe_is_immediate = true;
  ProgramPlan& program = draw.job().program;
  program.hang_at = draw.Int(1, 10);
  program.hang_once = false;
  program.on_term = OnTerm::kIgnores;
  // Not a cancel: whoever has read one leaves in time, whatever its program does.
  draw.job().max_duration = Duration::Ms(draw.Long(20'000, 60'000));
  return draw.plan;
}

Plan StopsLearning(uint64_t seed) {
  Draw draw(seed);
  ProgramPlan& program = draw.job().program;
  program.step_ms = 1'000;
  program.steps = 900;
  program.flat_from = draw.Int(5, 20);
  draw.job().stale_points = draw.Int(20, 40);
  draw.Faults("kill", 3, 0, 0);
  return draw.plan;
}

Plan ManyHands(uint64_t seed) {
  Draw draw(seed);
  draw.Gang();
  JobPlan& job = draw.job();
  job.program.crash_at = draw.Int(5, 20);
  job.program.crash_one_rank = true;
  job.program.on_term = OnTerm::kIgnores;
  job.stop_grace = Duration::Seconds(20);
  draw.Daemons(2);
  for (int i = 0; i < 4; ++i) job.cancel_at.push_back(draw.Long(5'000, 40'000));
  return draw.plan;
}

Plan EarlyCancel(uint64_t seed) {
  Draw draw(seed);
  for (int i = 0; i < 12; ++i) draw.plan.jobs.push_back(draw.Job());
  for (JobPlan& job : draw.plan.jobs) {
    job.attached = true;
    for (int i = 0; i < 4; ++i) job.cancel_at.push_back(draw.Long(500, 8'000));
  }
  // Many at once, each slow enough for the others to come between its read and its write.
  draw.plan.latency_high = 900;
  draw.Daemons(6);
  return draw.plan;
}

Plan LateCancel(uint64_t seed) {
  Draw draw(seed);
  draw.plan.poll = Duration::Seconds(10);
  draw.plan.report = Duration::Seconds(30);
  draw.job().program.steps = 800;
  draw.job().program.step_ms = 2'000;
  draw.job().program.checkpoint_every = 50;
  draw.job().program.lines_per_step = 0;
  draw.job().cancel_at.push_back(draw.Long(10'000, 60'000));
  return draw.plan;
}

Plan EmptyMarket(uint64_t seed) {
  Draw draw(seed);
  draw.plan.calm = 900'000;
  draw.plan.limit = 2LL * 3'600'000;
  draw.plan.cloud.no_capacity = 1'000;
  return draw.plan;
}

Plan Forbidden(uint64_t seed) {
  Draw draw(seed);
  draw.plan.calm = draw.plan.limit;  // to the end
  draw.plan.cloud.malformed = 1'000;
  draw.Daemons(1);
  return draw.plan;
}

Plan SomeMayNot(uint64_t seed) {
  Draw draw(seed);
  draw.plan.calm = 900'000;
  draw.plan.cloud.denied = 500;
  draw.job().attached = false;
  draw.Daemons(2);
  draw.Faults("kill", 3, 0, 0);
  return draw.plan;
}

Plan NotYetConsistent(uint64_t seed) {
  Draw draw(seed);
  draw.plan.calm = draw.Long(60'000, 240'000);
  draw.plan.cloud.unsettled = 1'000;
  return draw.plan;
}

Plan NeverConsistent(uint64_t seed) {
  Draw draw(seed);
  draw.plan.calm = draw.plan.limit;  // to the end
  draw.plan.cloud.unsettled = 1'000;
  return draw.plan;
}

Plan ShortJobs(uint64_t seed) {
  Draw draw(seed);
  for (int i = 0; i < 3; ++i) draw.plan.jobs.push_back(draw.Job());
  for (JobPlan& job : draw.plan.jobs) {
    job.program.steps = draw.Int(2, 12);
    job.attached = false;
  }
  draw.plan.describe_is_immediate = true;
  draw.StoreNoise(80);
  return draw.plan;
}

Plan ManyEnds(uint64_t seed) {
  Draw draw(seed);
  draw.plan.calm = 400'000;
  for (int i = 0; i < 15; ++i) draw.plan.jobs.push_back(draw.Job());
  for (JobPlan& job : draw.plan.jobs) {
    job.program.steps = draw.Int(2, 12);
    job.attached = false;
  }
  draw.plan.describe_is_immediate = true;
  draw.StoreNoise(60);
  return draw.plan;
}

Plan Housekeeping(uint64_t seed) {
  Draw draw(seed);
  for (int i = 0; i < 3; ++i) draw.plan.jobs.push_back(draw.Job());
  for (JobPlan& job : draw.plan.jobs) {
    job.program.steps = draw.Int(2, 12);
    job.submit_at = draw.Long(0, 20'000);
  }
  draw.StoreNoise(40);
  for (int i = 0; i < 3; ++i) {
    const int64_t period = draw.Long(500, 1'500);
    draw.plan.controllers.push_back(
        {ControllerKind::kHousekeeper, 0, draw.plan.calm + 60'000, period});
  }
  return draw.plan;
}

Plan Forsaken(uint64_t seed) {
  Draw draw(seed);
  draw.plan.tier = Tier::kVerbs;
  draw.plan.limit = 32LL * 3'600'000;
  draw.job().attached = false;
  draw.plan.controllers = {{ControllerKind::kVerb, 30LL * 3'600'000, -1, 60'000}};
  FaultPlan fault;
  fault.kind = "kill-agent";
  fault.at = draw.Long(10'000, 30'000);
  fault.amount = 100LL * 3'600'000;
  draw.plan.faults.push_back(fault);
  return draw.plan;
}

Plan RottenStore(uint64_t seed) {
  Draw draw(seed);
  for (int i = 0; i < 3; ++i) {
    FaultPlan rot;
    rot.kind = "rot-checkpoint";
    rot.at = draw.Long(10'000, 60'000);
    FaultPlan kill;
    kill.kind = "kill";
    kill.at = rot.at + 100;
    draw.plan.faults.push_back(rot);
    draw.plan.faults.push_back(kill);
  }
  return draw.plan;
}

Plan WrongClocks(uint64_t seed) {
  Draw draw(seed);
  // Further than a launch is waited for, so that a clock that is ahead gives up each machine that
  // boots, and slow boots, so that it is looked at before it has reported.
  draw.plan.skew_ms = 7'200'000;
  draw.plan.boot_low = 20'000;
  draw.plan.boot_high = 60'000;
  draw.plan.calm = 1'800'000;
  draw.Daemons(2);
  draw.Faults("notice", 3, 20'000, 60'000);
  return draw.plan;
}

Plan LeavesWhenTold(uint64_t seed) {
  Draw draw(seed);
  draw.job().program.on_term = OnTerm::kSavesAndSucceeds;
  draw.Faults("notice", 3, 3'000, 40'000);
  return draw.plan;
}

Plan FailsAndIsGone(uint64_t seed) {
  Draw draw(seed);
  // All lines wait for the end, and some bytes of a checkpoint before them.
  draw.plan.flush = Duration::Seconds(60);
  draw.job().program.crash_at = draw.Int(5, 20);
  draw.job().program.checkpoint_every = 1;
  draw.Daemons(3);
  draw.StoreNoise(80);
  FaultPlan fault;
  fault.kind = "kill";
  fault.on = "attempt-ended";
  draw.plan.faults.push_back(fault);
  return draw.plan;
}

Plan RefusedForGood(uint64_t seed) {
  Draw draw(seed);
  draw.plan.limit = 30LL * 3'600'000;
  draw.plan.most_events = 400'000;
  FaultPlan refusal;
  refusal.kind = draw.One(2) ? "refuse-checkpoints" : "refuse-logs";
  refusal.at = draw.Long(5'000, 20'000);
  refusal.amount = draw.plan.limit;
  draw.plan.faults.push_back(refusal);
  return draw.plan;
}

Plan LostPeer(uint64_t seed) {
  Draw draw(seed);
  draw.Gang();
  // The survivors say that they failed before anybody hears of the loss.
  draw.plan.describe_is_immediate = false;
  draw.plan.stale_ms = 30'000;
  draw.Faults("kill", 3, 0, 0);
  draw.Faults("notice", 1, 3'000, 20'000);
  return draw.plan;
}

}  // namespace stoker::sim
