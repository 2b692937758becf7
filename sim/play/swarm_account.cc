// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>

#include "base/prng.h"
#include "sim/faults/faults.h"
#include "sim/play/swarm.h"

namespace stoker::sim {
namespace {

// Each draw is a statement of its own.
class AccountDraw {
 public:
  AccountDraw(uint64_t seed, Plan* plan)
      : rng_(Prng(seed * 2 + 1).Next() ^ 0x6163636f756e74), plan_(*plan) {}

  void Make() {
    if (One(8)) Others("foreigner", 6);
    if (One(4)) Prices();
    if (One(10)) Sweeper();
    if (One(20)) Neighbour();
    if (One(8)) plan_.lists_all = true;
  }

 private:
  bool One(uint64_t in) { return rng_.Chance(1, in); }
  int64_t Long(int64_t low, int64_t high) { return rng_.Between(low, high); }

  void Others(const std::string& kind, int64_t most) {
    const FaultKind& known = *FindFault(kind);
    const int64_t times = Long(1, most);
    for (int64_t i = 0; i < times; ++i) {
      FaultPlan fault;
      fault.kind = kind;
      fault.at = Long(0, plan_.calm);
      fault.amount = Long(known.low, known.high);
      plan_.faults.push_back(fault);
    }
    // They take room, and what is left must do for the jobs.
    if (kind == "foreigner") Grant(static_cast<int>(times));
  }

  void Grant(int machines) {
    if (plan_.quota < Plan().quota) plan_.quota += machines;
  }

  // The first zone is never too dear for good. Where that one may be denied for good, none is
  // (seed 600001431).
  void Prices() {
    const bool denies = plan_.cloud.denied > 0 || plan_.cloud.malformed > 0;
    for (Zone& zone : plan_.zones) zone.price = Long(100'000, 5'000'000);
    for (JobPlan& job : plan_.jobs) {
      job.in_order = One(3);
      const bool bounded = One(2);
      const int64_t hundredths = Long(100, 300);
      if (bounded && !denies) job.ceiling = plan_.zones.front().price * hundredths / 100;
    }
    if (One(2)) Others("price", 4);
  }

  void Sweeper() {
    ControllerPlan sweeper;
    sweeper.kind = ControllerKind::kSweeper;
    sweeper.period = Long(60'000, 900'000);
    plan_.controllers.push_back(sweeper);
    plan_.limit_needs_boot = One(2);
  }

  void Neighbour() {
    plan_.neighbour = Long(1, 1'000'000'000);
    // Twice, as a user may submit a job a second time.
    for (const JobPlan& job : NeighbourOf(plan_).jobs) Grant(2 * job.nodes);
  }

  Prng rng_;
  Plan& plan_;
};

}  // namespace

void DrawAccount(uint64_t seed, Plan* plan) { AccountDraw(seed, plan).Make(); }

Plan NeighbourOf(const Plan& plan) {
  Plan next = DrawPlan(static_cast<uint64_t>(plan.neighbour));
  next.neighbour = 0;
  next.limit = plan.limit;
  // Until the account is calm, its requests may fail. The last move of a job comes after that, also
  // here: only then does its owner let it have any place.
  const int64_t later = std::max<int64_t>(0, plan.calm - next.calm);
  next.calm += later;
  for (JobPlan& job : next.jobs) {
    if (!job.move_at.empty()) job.move_at.back() += later;
  }
  next.cloud = plan.cloud;
  next.zones = plan.zones;
  next.nodes_ask_own = plan.nodes_ask_own;
  next.quota = plan.quota;
  next.describe_is_immediate = plan.describe_is_immediate;
  next.takes_gangs = plan.takes_gangs;
  next.ends_one_alone = plan.ends_one_alone;
  next.can_start = plan.can_start;
  next.restarts = plan.restarts;
  next.limit_needs_boot = plan.limit_needs_boot;
  next.lists_all = plan.lists_all;
  next.stale_ms = plan.stale_ms;
  next.token_memory_ms = plan.token_memory_ms;
  next.boot_low = plan.boot_low;
  next.boot_high = plan.boot_high;
  // What strikes the platform strikes both, and is the landlord's.
  static const std::set<std::string> kPlatform = {"cloud-away", "drought", "foreigner",
                                                  "price",      "storm",   "zone-away"};
  std::erase_if(next.faults, [](const FaultPlan& fault) { return kPlatform.contains(fault.kind); });
  for (JobPlan& job : next.jobs) {
    job.submit_at += 2'000;  // so that ids of jobs are known that can be met again
    job.ceiling = 0;         // of other prices
  }
  return next;
}

}  // namespace stoker::sim
