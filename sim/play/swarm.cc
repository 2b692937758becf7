// SPDX-License-Identifier: Apache-2.0
#include "sim/play/swarm.h"

#include <algorithm>

#include "base/prng.h"
#include "sim/faults/faults.h"

namespace stoker::sim {
namespace {

// Most worlds have some thousands; one with so many is a storm, or stands still and polls.
constexpr int64_t kMostEvents = 1'000'000;

// Draws for one plan. Each draw is a statement of its own.
class Draw {
 public:
  // From a state that is far from the next seed's: Prng goes from state to state by one constant,
  // so that states close to each other would be one sequence, a few draws apart.
  explicit Draw(uint64_t seed) : rng_(Prng(seed * 2 + 1).Next()) {}

  Plan Make(uint64_t seed) {
    Plan plan;
    plan.seed = seed;
    plan.most_events = kMostEvents;
    // Most lives are short: of rare combinations, a million short lives meet more than some long
    // ones.
    brief_ = !One(4);
    Platform(&plan);
    const int jobs = One(6) ? Int(2, 3) : 1;
    for (int i = 0; i < jobs; ++i) plan.jobs.push_back(Job(plan.calm));
    Controllers(&plan);
    Quota(&plan);
    if (!One(8)) Faults(&plan);
    if (!One(4)) Noise(&plan);
    return plan;
  }

 private:
  bool One(uint64_t in) { return rng_.Chance(1, in); }
  int Int(int64_t low, int64_t high) { return static_cast<int>(rng_.Between(low, high)); }
  int64_t Long(int64_t low, int64_t high) { return rng_.Between(low, high); }

  void Platform(Plan* plan) {
    plan->calm = brief_ ? Long(20, 160) * 1000 : Long(60, 700) * 1000;
    plan->describe_is_immediate = One(3);
    if (!plan->describe_is_immediate) plan->stale_ms = One(2) ? 0 : Long(1'000, 30'000);
    plan->boot_low = Long(100, 2'000);
    plan->boot_high = plan->boot_low + (One(2) ? Long(0, 2'000) : Long(2'000, 90'000));
    plan->skew_ms = One(4) ? Long(1'000, 900'000) : Long(0, 2'000);
    plan->poll = Duration::Ms(One(brief_ ? 12 : 3) ? Long(200, 2'000) : Long(2'000, 15'000));
    plan->report = Duration::Ms(Long(5'000, 30'000));
    plan->flush = Duration::Ms(Long(1'000, 30'000));
    plan->notice_poll = Duration::Ms(Long(1'000, 5'000));
    plan->latency_high = One(3) ? Long(60, 1'500) : 60;
    plan->logs = One(brief_ ? 4 : 2);
    plan->garbage_collected = One(8);
    if (One(6)) plan->zones = {{"zone-a"}, {"zone-b"}};
    if (One(10)) plan->quota = Int(2, 6);
  }

  // Jobs that their quota has no room for, one by one or together, wait until their users give them
  // up.
  void Quota(Plan* plan) {
    int nodes = 0;
    // Twice: who does not find their job, as its record is damaged, submits it once more.
    for (const JobPlan& job : plan->jobs) nodes += 2 * job.nodes;
    if (plan->quota >= nodes) return;
    if (!One(10)) {
      plan->quota = nodes;
      return;
    }
    for (JobPlan& job : plan->jobs) {
      job.retry_at.clear();
      job.cancel_at.push_back(plan->calm + Long(0, 1'800'000));
    }
  }

  ProgramPlan Program() {
    ProgramPlan program;
    // Some go on for longer than it takes to give up a node that is silent.
    program.steps = One(3) ? Int(100, 300) : Int(1, 100);
    if (brief_) program.steps = Int(1, 24);
    program.step_ms = One(4) || brief_ ? Long(2'000, 6'000) : Long(200, 2'000);
    program.checkpoint_every = brief_ ? Int(1, 6) : Int(2, 20);
    program.style = static_cast<WriteStyle>(Int(0, 3));
    program.write_ms = Long(0, 900);
    program.bytes = One(10) ? 20'000 : 600;
    program.lines_per_step = Int(0, 3);
    program.every_rank_saves = One(2);
    program.on_term = static_cast<OnTerm>(Int(0, 3));
    program.setup_ms = One(5) ? Long(1'000, 60'000) : 200;
    return program;
  }

  // What the program itself does wrong, and what the job file says to it.
  void Misfortune(JobPlan* job) {
    ProgramPlan& program = job->program;
    switch (Int(0, 13)) {
      case 0:
        program.crash_at = Int(1, program.steps);
        job->max_restarts_on_errors = Int(0, 2);
        program.crash_one_rank = One(2);
        break;
      case 1:
        program.crash_at = Int(1, program.steps);
        program.crash_once = true;
        job->max_restarts_on_errors = 1;
        break;
      case 2:
        program.poisoned_step = program.checkpoint_every * Int(1, 4);
        break;
      case 3:
        program.setup_fails = true;
        break;
      case 4:
        job->max_duration = Duration::Ms(program.step_ms * std::max(1, program.steps / 2));
        break;
      case 5:
        program.hang_at = Int(1, program.steps);
        job->stall = Duration::Seconds(Int(60, 200));
        program.hang_once = One(2);
        break;
      case 6:
        program.crash_at = Int(1, program.steps);
        program.crash_once = true;
        job->recover_on_exit_codes = {program.crash_code};
        program.crash_one_rank = false;
        break;
      default:
        break;
    }
  }

  JobPlan Job(int64_t calm) {
    JobPlan job;
    job.program = Program();
    job.nodes = One(2) ? 1 : Int(2, 3);
    job.submit_at = One(2) ? 0 : Long(0, calm / 2);
    job.attached = !One(3);
    if (One(3)) job.leaves_after = Long(0, calm);
    if (One(40)) job.submit_dies_at = Long(0, 2'000);
    if (One(6)) job.cancel_at.push_back(Long(0, calm));
    if (One(24)) job.cancel_at.push_back(Long(0, calm));
    if (One(16)) job.retry_at.push_back(Long(0, calm));
    job.stop_grace = Duration::Seconds(Int(1, 40));
    job.quiet = Duration::Ms(Long(500, 3'000));
    job.keep = Int(1, 4);
    Misfortune(&job);
    // Nodes that save at a signal, each at its own step, leave nothing that anybody could pair.
    if (job.nodes > 1 && job.program.every_rank_saves && job.program.on_term != OnTerm::kIgnores) {
      job.program.on_term = OnTerm::kDies;
    }
    return job;
  }

  void Controllers(Plan* plan) {
    const int daemons = One(2) ? 0 : Int(1, 3);
    for (int i = 0; i < daemons; ++i) {
      ControllerPlan daemon;
      daemon.begin = Long(0, plan->calm / 2);
      daemon.period = Long(1'000, 20'000);
      daemon.end = plan->calm + Long(30'000, 300'000);
      if (One(3)) daemon.end = daemon.begin + Long(10'000, plan->calm);
      if (One(8)) daemon.end = -1;
      plan->controllers.push_back(daemon);
    }
    if (One(3)) plan->controllers.push_back({ControllerKind::kTimer, 0, -1, Long(15'000, 90'000)});
    // In the end somebody looks, again and again.
    plan->controllers.push_back({ControllerKind::kVerb, plan->calm + Long(0, 60'000), -1, 60'000});
    // What a submitter left that died halfway goes with a `controller --once` an hour later.
    plan->controllers.push_back({ControllerKind::kTimer, plan->calm + 3'700'000, -1, 600'000});
    if (One(4)) {
      plan->controllers.push_back(
          {ControllerKind::kVerb, Long(0, plan->calm), plan->calm, Long(5'000, 60'000)});
    }
  }

  void Faults(Plan* plan) {
    // A few kinds a world, so that each gets its share of company and of solitude.
    const auto& all = FaultKinds();
    std::vector<const FaultKind*> kinds;
    const int different = Int(1, 4);
    for (int i = 0; i < different; ++i) {
      kinds.push_back(&all[rng_.Below(all.size())]);
    }
    const int faults = Int(1, 12);
    for (int i = 0; i < faults; ++i) {
      const FaultKind& kind = *kinds[rng_.Below(kinds.size())];
      FaultPlan fault;
      fault.kind = kind.name;
      fault.at = Long(0, plan->calm);
      fault.amount = Long(kind.low, kind.high);
      // The lengths that clouds know, and none at all.
      static constexpr int64_t kLeads[] = {0, 5'000, 30'000, 120'000};
      if (kind.name == "notice" || kind.name == "storm") {
        if (!One(3)) fault.amount = kLeads[rng_.Below(4)];
      }
      plan->faults.push_back(fault);
    }
  }

  int Rate(int most) { return One(2) ? 0 : Int(1, most); }

  void Noise(Plan* plan) {
    plan->bucket.before = Rate(80);
    plan->bucket.after = Rate(80);
    plan->bucket.late = Rate(40);
    plan->bucket.throttled = Rate(80);
    plan->bucket.slow = Rate(20);
    plan->bucket.torn = Rate(40);
    plan->cloud.throttled = Rate(200);
    plan->cloud.before = Rate(100);
    plan->cloud.after = Rate(200);
    plan->cloud.late = Rate(100);
    plan->cloud.no_capacity = Rate(300);
    plan->cloud.never_boots = Rate(100);
    plan->cloud.slow_boots = Rate(200);
    if (One(20)) plan->cloud.denied = Int(1, 300);
  }

  Prng rng_;
  bool brief_ = false;
};

}  // namespace

namespace {

// From a state of its own, so that no other draw moves.
void DrawHoles(uint64_t seed, Plan* plan) {
  Prng rng(Prng(seed * 2 + 1).Next() ^ 0x686f6c6573);
  if (!rng.Chance(1, 4)) return;
  plan->cloud.holes = static_cast<int>(rng.Between(1, 100));
}

// Several places to have machines at, of one provider or of three, and jobs that may go to any.
void DrawPlaces(uint64_t seed, Plan* plan) {
  Prng rng(Prng(seed * 2 + 1).Next() ^ 0x706c61636573);
  if (!rng.Chance(1, 4)) return;
  const bool several = rng.Chance(2, 3);
  const bool denies = plan->cloud.denied > 0 || plan->cloud.malformed > 0;
  const auto wanted = static_cast<size_t>(rng.Between(2, 4));
  const char* const names[] = {"zone-a", "zone-b", "zone-c", "zone-d"};
  const char* const providers[] = {"local", "ec2", "gce"};
  while (plan->zones.size() < wanted) plan->zones.push_back({names[plan->zones.size()]});
  for (size_t i = 0; i < plan->zones.size(); ++i) {
    Zone& zone = plan->zones[i];
    if (several) zone.provider = providers[i % 3];
    // Never none anywhere, nor only where somebody was denied: that is a drought, and those end.
    if (i > 0 && rng.Chance(1, 3) && !denies) zone.capacity = static_cast<int>(rng.Between(0, 3));
    if (several && i > 0 && rng.Chance(1, 3)) {
      FaultPlan away;
      away.kind = "cloud-away";
      away.zone = zone.name;
      away.at = rng.Between(1'000, plan->calm);
      // What it is left with is counted from the calm on.
      away.amount = rng.Between(1'000, std::max<int64_t>(1'000, plan->calm - away.at));
      plan->faults.push_back(away);
    }
  }
  for (JobPlan& job : plan->jobs) {
    if (rng.Chance(3, 4)) job.any_zone = static_cast<int>(rng.Between(1, 4));
  }
}

// Nodes that have rights at their own provider alone.
void DrawRights(uint64_t seed, Plan* plan) {
  Prng rng(Prng(seed * 2 + 1).Next() ^ 0x726967687473);
  const bool several = plan->zones.size() > 1 && !plan->zones.front().provider.empty();
  plan->nodes_ask_own = several && rng.Chance(1, 2);
}

// A zone of several that nobody reaches for a while, though its provider answers.
void DrawZonesAway(uint64_t seed, Plan* plan) {
  Prng rng(Prng(seed * 2 + 1).Next() ^ 0x7a6f6e6573);
  if (plan->zones.size() < 2 || !rng.Chance(1, 2)) return;
  const int64_t times = rng.Between(1, 3);
  for (int64_t i = 0; i < times; ++i) {
    FaultPlan away;
    away.kind = "zone-away";
    away.zone = plan->zones[rng.Below(plan->zones.size())].name;
    away.at = rng.Between(1'000, plan->calm);
    away.amount = rng.Between(1'000, std::max<int64_t>(1'000, plan->calm - away.at));
    plan->faults.push_back(away);
  }
}

// Machines that wait in a queue, some for hours.
void DrawQueues(uint64_t seed, Plan* plan) {
  Prng rng(Prng(seed * 2 + 1).Next() ^ 0x717565756573);
  if (!rng.Chance(1, 20)) return;
  plan->cloud.queues = static_cast<int>(rng.Between(200, 1'000));
  plan->cloud.queue_ms = rng.Between(60'000, rng.Chance(1, 4) ? 14'400'000 : 1'800'000);
}

// Machines that are stopped by people for good, and by their platform before they are up.
void DrawStops(uint64_t seed, Plan* plan) {
  Prng rng(Prng(seed * 2 + 1).Next() ^ 0x73746f7073);
  if (!rng.Chance(1, 8)) return;
  plan->can_start = rng.Chance(1, 2);
  if (rng.Chance(1, 2)) plan->cloud.stops_early = static_cast<int>(rng.Between(1, 400));
  const int64_t stops = rng.Between(0, 3);
  for (int64_t i = 0; i < stops; ++i) {
    FaultPlan stop;
    stop.kind = "stop";
    stop.at = rng.Between(0, plan->calm);
    plan->faults.push_back(stop);
  }
}

// Machines that are stopped and wanted again: by notices, by people, by themselves.
void DrawRestarts(uint64_t seed, Plan* plan) {
  Prng rng(Prng(seed * 2 + 1).Next() ^ 0x72657374617274);
  if (!rng.Chance(1, 10)) return;
  plan->restarts = true;
  plan->can_start = true;
  if (rng.Chance(1, 3)) plan->cloud.starts_fail = static_cast<int>(rng.Between(1, 600));
  const int64_t faults = rng.Between(0, 4);
  for (int64_t i = 0; i < faults; ++i) {
    FaultPlan fault;
    fault.at = rng.Between(0, plan->calm);
    const uint64_t kind = rng.Below(4);
    fault.kind = kind == 0 ? "stop" : kind == 1 ? "stop-start" : "notice";
    fault.amount = kind == 1 ? rng.Between(1'000, 1'800'000) : rng.Between(0, 120'000);
    plan->faults.push_back(fault);
  }
}

// Providers that say no in more ways than one.
void DrawProviderRefusals(uint64_t seed, Plan* plan) {
  Prng rng(Prng(seed * 2 + 1).Next() ^ 0x72656675736573);
  if (!rng.Chance(1, 6)) return;
  for (int CloudFaults::*const rate :
       {&CloudFaults::no_market, &CloudFaults::no_quota, &CloudFaults::unsettled}) {
    if (rng.Chance(1, 2)) plan->cloud.*rate = static_cast<int>(rng.Between(1, 200));
  }
  if (rng.Chance(1, 2)) plan->cloud.dead_births = static_cast<int>(rng.Between(1, 400));
  if (rng.Chance(1, 2)) plan->cloud.late_refusals = static_cast<int>(rng.Between(1, 1'000));
}

// Owners who want a job elsewhere, some again and again. The last one, when all is calm, lets it
// have any place: where it was sent there may be no room for good.
void DrawMoves(uint64_t seed, Plan* plan) {
  Prng rng(Prng(seed * 2 + 1).Next() ^ 0x6d6f766573);
  if (!rng.Chance(1, 5)) return;
  for (JobPlan& job : plan->jobs) {
    if (rng.Chance(1, 3)) continue;
    const int64_t times = rng.Between(1, 4);
    for (int64_t i = 0; i < times; ++i) job.move_at.push_back(rng.Between(0, plan->calm));
    job.move_at.push_back(plan->calm + rng.Between(0, 300'000));
  }
}

// Machines of jobs that fail are kept for a while, some until a user has seen enough.
void DrawKept(uint64_t seed, Plan* plan) {
  Prng rng(Prng(seed * 2 + 1).Next() ^ 0x6b657074);
  if (!rng.Chance(1, 6)) return;
  for (JobPlan& job : plan->jobs) {
    job.keep_failed = Duration::Ms(rng.Between(60'000, 900'000));
    const bool enough = rng.Chance(1, 4);
    const int64_t seen = rng.Between(0, 600'000);
    if (enough) job.cancel_at.push_back(plan->calm + seen);
  }
}

// Launchers that hand SIGTERM on, and programs that end of it without a save.
void DrawTerm(uint64_t seed, Plan* plan) {
  Prng rng(Prng(seed * 2 + 1).Next() ^ 0x7465726d);
  for (JobPlan& job : plan->jobs) {
    const bool saves = job.program.on_term == OnTerm::kSavesAndSucceeds ||
                       job.program.on_term == OnTerm::kSavesAndFails;
    if (!saves || !rng.Chance(1, 3)) continue;
    job.program.on_term = rng.Chance(1, 2) ? OnTerm::kPassesOn : OnTerm::kLeavesUnsaved;
  }
}

}  // namespace

Plan DrawPlan(uint64_t seed) {
  Draw draw(seed);
  Plan plan = draw.Make(seed);
  DrawHoles(seed, &plan);
  DrawPlaces(seed, &plan);
  DrawRights(seed, &plan);
  DrawZonesAway(seed, &plan);
  DrawQueues(seed, &plan);
  DrawStops(seed, &plan);
  DrawRestarts(seed, &plan);
  DrawProviderRefusals(seed, &plan);
  DrawLedger(seed, &plan);
  DrawAccount(seed, &plan);
  DrawMoves(seed, &plan);
  DrawKept(seed, &plan);
  DrawTerm(seed, &plan);
  DrawAway(seed, &plan);
  return plan;
}

}  // namespace stoker::sim
