// SPDX-License-Identifier: Apache-2.0
#include "base/prng.h"
#include "sim/faults.h"
#include "sim/swarm.h"

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
    if (One(12)) Damage();
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
      plan_.faults.push_back(fault);
    }
    const bool kept = One(2);
    if (kept) Add(ControllerKind::kHousekeeper);
    const bool read = plan_.logs && One(2);
    if (read) Add(ControllerKind::kReader);
  }

  void Program(ProgramPlan* program) {
    if (One(4)) program->spawn_ms = Long(1, 3'000);
    if (One(16)) program->start_ms = 0;
    if (One(30)) program->resume_fails = true;
    if (One(60)) program->start_fails = static_cast<StartFails>(Long(1, 3));
  }

  Prng rng_;
  Plan& plan_;
};

}  // namespace

void DrawLedger(uint64_t seed, Plan* plan) { LedgerDraw(seed, plan).Make(); }

}  // namespace stoker::sim
