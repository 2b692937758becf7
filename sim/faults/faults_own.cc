// SPDX-License-Identifier: Apache-2.0
// What happens to machines that nobody lends: nodes of a scheduler (Slurm), boxes in a corridor.
#include <algorithm>

#include "sim/faults/faults.h"
#include "sim/node/host.h"

namespace stoker::sim {
namespace {

// A machine of this ledger that is not gone and, if `queued`, waits; "" = there is none.
std::string DrawOwn(World& world, const FaultPlan& fault, bool queued) {
  std::vector<std::string> there;
  for (const auto& [id, machine] : world.cloud().machines()) {
    if (machine.owner != world.number() || machine.state == InstanceState::kGone) continue;
    if (machine.requeued || (machine.state == InstanceState::kQueued) != queued) continue;
    if (!fault.job.empty() && machine.request.job != fault.job) continue;
    there.push_back(id);
  }
  if (there.empty()) return "";
  const std::string id = there[world.rng().Below(there.size())];
  ++world.strikes()[fault.kind];
  world.Tell("fault", fault.kind + " " + std::to_string(fault.amount) + " on " + id);
  return id;
}

// scancel: all that came with it.
void EndRequest(World& world, const std::string& id) {
  const CloudMachine* const machine = world.cloud().Find(id);
  if (machine == nullptr) return;
  for (const std::string& each : std::vector<std::string>(machine->gang)) {
    world.cloud().End(each, "cancelled by its owner", EndedBy::kOwner);
  }
}

void Scancel(World& world, const FaultPlan& fault) {
  EndRequest(world, DrawOwn(world, fault, false));
}
void ScancelQueued(World& world, const FaultPlan& fault) {
  EndRequest(world, DrawOwn(world, fault, true));
}

// scontrol requeue.
void Requeue(World& world, const FaultPlan& fault) {
  const std::string id = DrawOwn(world, fault, false);
  if (!id.empty()) world.cloud().Requeue(id, fault.amount);
}

// The time of an allocation is over: a notice for all of its nodes, then Slurm ends them.
void TimeLimit(World& world, const FaultPlan& fault) {
  const CloudMachine* const machine = world.cloud().Find(DrawOwn(world, fault, false));
  if (machine == nullptr) return;
  for (const std::string& each : std::vector<std::string>(machine->gang)) {
    world.cloud().Take(each, fault.amount);
  }
}

// The wire of a box: no ssh reaches it, and it reaches no store.
void CutBox(World& world, const std::string& id, int64_t ms) {
  world.cloud().Hide(id, ms);
  const auto host = world.hosts().find(id);
  if (host == world.hosts().end()) return;
  host->second->link.cut_until = std::max(host->second->link.cut_until, world.now() + ms);
}

void BoxAway(World& world, const FaultPlan& fault) {
  const std::string id = DrawOwn(world, fault, false);
  if (!id.empty()) CutBox(world, id, fault.amount);
}

// It reboots, and what ran on it is gone; until it is back nobody knows that.
void BoxReboots(World& world, const FaultPlan& fault) {
  const std::string id = DrawOwn(world, fault, false);
  if (id.empty()) return;
  CutBox(world, id, fault.amount);
  world.cloud().End(id, "the box was booted anew");
}

}  // namespace

const std::vector<FaultKind>& OwnKinds() {
  static const std::vector<FaultKind> kinds = {
      {"box-away", "ms until it answers again", 10'000, 1'200'000, BoxAway},
      {"box-reboots", "ms until it answers again", 5'000, 300'000, BoxReboots},
      {"requeue", "ms in the queue", 1'000, 900'000, Requeue},
      {"scancel", "", 0, 0, Scancel},
      {"scancel-queued", "", 0, 0, ScancelQueued},
      {"time-limit", "ms of its notice", 10'000, 120'000, TimeLimit},
  };
  return kinds;
}

}  // namespace stoker::sim
