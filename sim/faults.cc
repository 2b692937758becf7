// SPDX-License-Identifier: Apache-2.0
#include "sim/faults.h"

#include <algorithm>

#include "base/text.h"
#include "ledger/paths.h"
#include "sim/actor.h"
#include "sim/host.h"
#include "sim/node_agent.h"

namespace stoker::sim {
namespace {

// The machine that a fault means: the n-th that is up, or any. Null: none is.
Host* Pick(World& world, const FaultPlan& fault) {
  std::vector<Host*> up;
  for (const auto& [id, host] : world.hosts()) {
    if (host->up()) up.push_back(host.get());
  }
  if (up.empty()) return nullptr;
  const size_t index = fault.target >= 0 ? static_cast<size_t>(fault.target) % up.size()
                                         : static_cast<size_t>(world.rng().Below(up.size()));
  return up[index];
}

Actor* PickActor(World& world, const FaultPlan& fault) {
  std::vector<Actor*> running;
  for (const auto& actor : world.actors()) {
    if (actor->running()) running.push_back(actor.get());
  }
  if (running.empty()) return nullptr;
  const size_t index = fault.target >= 0 ? static_cast<size_t>(fault.target) % running.size()
                                         : static_cast<size_t>(world.rng().Below(running.size()));
  return running[index];
}

template <void (*Act)(World&, Host&, const FaultPlan&)>
void OnMachine(World& world, const FaultPlan& fault) {
  Host* const host = Pick(world, fault);
  if (host == nullptr) return;
  world.Tell("fault", fault.kind + " " + std::to_string(fault.amount) + " on " + host->id);
  Act(world, *host, fault);
}

void Notice(World& world, Host& host, const FaultPlan& fault) {
  world.cloud().Take(host.id, fault.amount);
}
void Withdraw(World& world, Host& host, const FaultPlan& fault) {
  world.cloud().Take(host.id, fault.amount);
  world.scheduler().In(fault.amount / 2, [&world, id = host.id] { world.cloud().Withdraw(id); });
}
void Kill(World& world, Host& host, const FaultPlan&) {
  world.cloud().End(host.id, "the host failed");
}
void StopStart(World& world, Host& host, const FaultPlan& fault) {
  host.shutting_down = true;
  world.cloud().StopAndStart(host.id, fault.amount);
}
void KillAgent(World&, Host& host, const FaultPlan& fault) { host.KillAgent(fault.amount); }
void PauseAgent(World&, Host& host, const FaultPlan& fault) { host.PauseAgent(fault.amount); }
void KillProgram(World&, Host& host, const FaultPlan&) {
  if (host.agent() != nullptr && host.agent()->attempt() != nullptr) {
    host.agent()->attempt()->KillFromOutside();
  }
}
void Cut(World& world, Host& host, const FaultPlan& fault) {
  host.link.cut_until = world.now() + fault.amount;
}
void FullDisk(World& world, Host& host, const FaultPlan& fault) {
  host.disk.SetFull(true);
  world.Once("disk of " + host.id + " full");
  world.scheduler().In(fault.amount, [&world, id = host.id] {
    const auto found = world.hosts().find(id);
    if (found != world.hosts().end()) found->second->disk.SetFull(false);
  });
}
void StepClock(World&, Host& host, const FaultPlan& fault) { host.clock.skew += fault.amount; }

void StoreAway(World& world, const FaultPlan& fault) {
  world.Tell("fault", "the store is away for " + std::to_string(fault.amount) + " ms");
  world.bucket().away_until = std::max(world.bucket().away_until, world.now() + fault.amount);
}
void KillActor(World& world, const FaultPlan& fault) {
  if (Actor* const actor = PickActor(world, fault)) actor->Kill(fault.amount);
}
void PauseActor(World& world, const FaultPlan& fault) {
  Actor* const actor = PickActor(world, fault);
  if (actor == nullptr) return;
  world.Tell("fault", actor->name() + " sleeps for " + std::to_string(fault.amount) + " ms");
  actor->Pause(fault.amount);
}
void CutActor(World& world, const FaultPlan& fault) {
  if (Actor* const actor = PickActor(world, fault)) {
    actor->link.cut_until = world.now() + fault.amount;
  }
}
// Every machine of the zone gets a notice at once, and nothing is to be had there for a while.
void Storm(World& world, const FaultPlan& fault) {
  const std::string zone = fault.zone.empty() ? world.cloud().zones.front().name : fault.zone;
  world.Tell("fault", "a storm in " + zone);
  world.cloud().SetCapacity(zone, 0, fault.amount);
  world.scheduler().In(fault.amount + 600'000,
                       [&world, zone] { world.cloud().SetCapacity(zone, 1'000'000, 0); });
}
// An object of some job is damaged in the store: its newest checkpoint's data.
void RotCheckpoint(World& world, const FaultPlan&) {
  const std::string wanted = "/checkpoints/";
  std::string newest;
  for (const auto& [key, entry] : world.bucket().objects()) {
    if (key.find(wanted) != std::string::npos && key.find("/data/") != std::string::npos) {
      newest = key;
    }
  }
  if (newest.empty()) return;
  std::string rotten = *world.bucket().Find(newest)->data;
  if (rotten.empty()) return;
  rotten[rotten.size() / 2] = static_cast<char>(rotten[rotten.size() / 2] ^ 1);
  world.Tell("fault", "rots " + newest);
  world.Once("rotten");
  world.bucket().Plant(newest, std::make_shared<const std::string>(std::move(rotten)));
}

}  // namespace

const std::vector<FaultKind>& FaultKinds() {
  static const std::vector<FaultKind> kinds = {
      {"cut", "ms", 1'000, 200'000, OnMachine<Cut>},
      {"cut-actor", "ms", 1'000, 200'000, CutActor},
      {"full-disk", "ms", 1'000, 120'000, OnMachine<FullDisk>},
      {"kill", "", 0, 0, OnMachine<Kill>},
      {"kill-actor", "ms until it is back", 0, 60'000, KillActor},
      {"kill-agent", "ms until it is back", 50, 20'000, OnMachine<KillAgent>},
      {"kill-program", "", 0, 0, OnMachine<KillProgram>},
      {"notice", "lead in ms", 2'000, 120'000, OnMachine<Notice>},
      {"pause-actor", "ms", 1'000, 300'000, PauseActor},
      {"pause-agent", "ms", 1'000, 200'000, OnMachine<PauseAgent>},
      {"rot-checkpoint", "", 0, 0, RotCheckpoint},
      {"step-clock", "ms", -600'000, 600'000, OnMachine<StepClock>},
      {"stop-start", "ms until it is back", 5'000, 300'000, OnMachine<StopStart>},
      {"store-away", "ms", 1'000, 120'000, StoreAway},
      {"storm", "lead in ms", 0, 120'000, Storm},
      {"withdraw", "lead in ms", 10'000, 120'000, OnMachine<Withdraw>},
  };
  return kinds;
}

const FaultKind* FindFault(const std::string& name) {
  for (const FaultKind& kind : FaultKinds()) {
    if (kind.name == name) return &kind;
  }
  return nullptr;
}

void ScheduleFaults(World& world) {
  for (const FaultPlan& fault : world.plan().faults) {
    const FaultKind* const kind = FindFault(fault.kind);
    if (kind == nullptr) continue;
    world.scheduler().At(fault.at, [&world, &fault, kind] { kind->strike(world, fault); });
  }
}

}  // namespace stoker::sim
