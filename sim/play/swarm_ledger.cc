// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>

#include "base/prng.h"
#include "sim/faults/faults.h"
#include "sim/play/swarm.h"

namespace stoker::sim {
namespace {

// Each draw is a statement of its own.
class LedgerDraw {
 public:
  LedgerDraw(uint64_t seed, Plan* plan) : rng_(seed * 0xd1b54a32d192ed03ULL + 7), plan_(*plan) {}

  void Make() {
    if (One(8)) plan_.page = static_cast<int>(Long(1, 7));
    if (One(10)) plan_.past = static_cast<int>(Long(1, 12));
    if (One(80)) plan_.past = static_cast<int>(Long(40, 60));
    if (One(10)) Add(ControllerKind::kHousekeeper);
    if (plan_.past > 0) Add(ControllerKind::kHousekeeper);
    if (plan_.logs && One(4)) Add(ControllerKind::kReader);
    if (One(10)) Damage();
    if (One(6)) Moments();
    if (One(30)) plan_.bucket.denied = static_cast<int>(Long(1, 20));
    if (One(12)) plan_.token_memory_ms = Long(0, 600'000);
    for (JobPlan& job : plan_.jobs) Program(&job.program);
  }

 private:
  bool One(uint64_t in) { return rng_.Chance(1, in); }
  int64_t Long(int64_t low, int64_t high) { return rng_.Between(low, high); }

  void Add(ControllerKind kind) {
    ControllerPlan user;
    user.kind = kind;
    user.begin = One(2) ? 0 : Long(0, plan_.calm);
    user.end = plan_.calm + Long(0, 600'000);
    user.period = Long(500, 20'000);
    plan_.controllers.push_back(user);
  }

  void Damage() {
    const auto& kinds = DamageKinds();
    const int64_t times = Long(1, 6);
    const size_t first = rng_.Below(kinds.size());
    for (int64_t i = 0; i < times; ++i) {
      // Mostly of one kind, so that each meets what the others leave alone.
      const bool other = One(3);
      const FaultKind& kind = kinds[other ? rng_.Below(kinds.size()) : first];
      FaultPlan fault;
      fault.kind = kind.name;
      fault.at = Long(0, plan_.calm);
      fault.amount = Long(kind.low, kind.high);
      if (kind.name.find("log") != std::string::npos) plan_.logs = true;
      plan_.faults.push_back(fault);
    }
    const bool kept = One(2);
    if (kept) Add(ControllerKind::kHousekeeper);
    const bool read = plan_.logs && One(2);
    if (read) Add(ControllerKind::kReader);
  }

  // What strikes in one moment of a job's life and not somewhere near it.
  void Moments() {
    static constexpr const char* kWhen[] = {
        "attempt-draining", "attempt-ended",  "attempt-running", "first-commit",    "machine-up",
        "program-ends",     "program-starts", "restored",        "launch-requested"};
    static constexpr const char* kWhat[] = {
        "kill-cause", "kill-agent", "kill-agent",  "notice",       "withdraw-late", "cloud-away",
        "cut",        "kill",       "pause-agent", "damage-claim", "full-disk",     "kill-program"};
    const int64_t moments = Long(1, 4);
    for (int64_t i = 0; i < moments; ++i) {
      FaultPlan fault;
      const uint64_t when = rng_.Below(std::size(kWhen));
      const uint64_t what = rng_.Below(std::size(kWhat));
      fault.on = kWhen[when];
      fault.kind = kWhat[what];
      const FaultKind& kind = *FindFault(fault.kind);
      fault.amount = Long(kind.low, kind.high);
      if (One(2)) fault.amount = Long(kind.low, kind.low + (kind.high - kind.low) / 10);
      fault.after_ms = One(2) ? 0 : Long(0, 3'000);
      if (One(4)) fault.after_ms = Long(0, 40'000);
      if (One(2)) fault.who = "cause";
      fault.count = static_cast<int>(Long(1, 4));
      plan_.faults.push_back(fault);
    }
  }

  void Program(ProgramPlan* program) {
    if (One(4)) program->spawn_ms = Long(1, 3'000);
    if (One(16)) program->start_ms = 0;
    if (One(30)) program->resume_fails = true;
    if (One(60)) program->start_fails = static_cast<StartFails>(Long(1, 4));
    if (program->crash_at >= 0 && One(4)) program->out_of_memory = true;
    if (plan_.logs && One(30)) {
      program->line_bytes = static_cast<int>(One(2) ? Long(1'000, 20'000) : Long(20'000, 140'000));
      program->lines_per_step = 1;
      program->steps = std::min(program->steps, 20);
    }
  }

  Prng rng_;
  Plan& plan_;
};

// One world in 25: the store or the disks say no, for hours or for good, from some time on.
void DrawRefusals(uint64_t seed, Plan* plan) {
  Prng rng(seed * 0x9e3779b97f4a7c15ULL + 11);
  if (!rng.Chance(1, 25)) return;
  plan->most_events = 10'000'000;  // each attempt may wait for an hour
  const auto& kinds = RefusalKinds();
  const int64_t times = rng.Between(1, 2);
  for (int64_t i = 0; i < times; ++i) {
    const FaultKind& kind = kinds[rng.Below(kinds.size())];
    FaultPlan fault;
    fault.kind = kind.name;
    const bool early = rng.Chance(2, 3);
    fault.at =
        early ? rng.Between(0, std::min<int64_t>(plan->calm, 120'000)) : rng.Between(0, plan->calm);
    const bool hours = rng.Chance(1, 2);
    fault.amount = rng.Between(kind.low, hours ? 6 * kind.low : kind.high);
    plan->faults.push_back(fault);
  }
}

// One world in four takes gangs, half of them as wholes.
void DrawGangs(uint64_t seed, Plan* plan) {
  Prng rng(seed * 0xbf58476d1ce4e5b9ULL + 13);
  plan->takes_gangs = rng.Chance(1, 4);
  const bool whole = rng.Chance(1, 2);
  plan->ends_one_alone = !plan->takes_gangs || !whole;
}

}  // namespace

void DrawLedger(uint64_t seed, Plan* plan) {
  LedgerDraw(seed, plan).Make();
  DrawRefusals(seed, plan);
  DrawGangs(seed, plan);
}

}  // namespace stoker::sim
