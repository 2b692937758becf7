// SPDX-License-Identifier: Apache-2.0
#include "base/prng.h"
#include "sim/play/swarm.h"

namespace stoker::sim {
namespace {

// Each draw is a statement of its own.
class AwayDraw {
 public:
  explicit AwayDraw(uint64_t seed) : rng_(Prng(seed * 2 + 1).Next() ^ 0x61776179) {}

  // In one world of eight a function of the cloud looks, too; in one of three of these nobody else
  // does before the calm but those who submit.
  void Make(Plan* plan) {
    if (!One(8)) return;
    ControllerPlan function;
    function.kind = ControllerKind::kAway;
    function.begin = Long(0, 60'000);
    function.period = Long(20'000, 300'000);
    function.late = Long(0, 120'000);
    function.missing = Rate();
    function.doubled = Rate();
    function.lost = One(3) ? 1'000 : Rate();
    function.at_once = static_cast<int>(Long(1, 3));
    function.machines = static_cast<int>(Long(1, 8));
    if (One(3)) function.price = Long(100'000, 5'000'000);
    for (JobPlan& job : plan->jobs) job.large = One(6);
    const bool alone = One(3);
    if (alone) LeaveAlone(plan);
    plan->controllers.push_back(function);
  }

 private:
  bool One(uint64_t in) { return rng_.Chance(1, in); }
  int64_t Long(int64_t low, int64_t high) { return rng_.Between(low, high); }
  int Rate() { return One(3) ? 0 : static_cast<int>(Long(1, 500)); }

  static void LeaveAlone(Plan* plan) {
    for (JobPlan& job : plan->jobs) job.attached = false;
    std::erase_if(plan->controllers, [&](const ControllerPlan& one) {
      return one.kind == ControllerKind::kDaemon && one.end >= 0;
    });
  }

  Prng rng_;
};

}  // namespace

void DrawAway(uint64_t seed, Plan* plan) { AwayDraw(seed).Make(plan); }

}  // namespace stoker::sim
