// SPDX-License-Identifier: Apache-2.0
#include "sim/node/host.h"

#include <algorithm>

#include "sim/node/node_agent.h"

namespace stoker::sim {

Host::Host(World& w, const CloudMachine& machine)
    : world(w),
      id(machine.id),
      request(machine.request),
      launch(machine.launch()),
      clock(w.scheduler()),
      disk(w.scheduler(), clock) {
  clock.mono_offset = w.rng().Between(1'000, 100'000'000);
  clock.skew = w.rng().Between(-w.plan().skew_ms, w.plan().skew_ms);
  disk.no_copies_until = &w.no_copies_until;
}

Host::~Host() { PowerOff(); }

void Host::Boot() {
  up_ = true;
  shutting_down = false;
  boot_id = "boot" + std::to_string(world.rng().Below(1'000'000'000));
  disk.Reboot();
  if (world.now() < world.full_disks_until) FillDisk(world.full_disks_until);
  world.Tell(id, "is up");
  StartAgent();
}

void Host::StartAgent() {
  if (!up_) return;
  const std::string name = id + "/agent" + std::to_string(++incarnations_);
  process_ = std::make_unique<Process>(world.scheduler(), name);
  agent_ = std::make_unique<NodeAgent>(*this, *process_);
  agent_->Start();
}

void Host::FillDisk(int64_t until) {
  full_until_ = std::max(full_until_, until);
  disk.SetFull(true);
  world.Once("disk of " + id + " full");
  world.scheduler().At(until, [&all = world, id = id] {
    const auto found = all.hosts().find(id);
    if (found == all.hosts().end() || all.now() < found->second->full_until_) return;
    found->second->disk.SetFull(false);
  });
}

// What was killed may be what runs now: nothing of it is touched after this returns.
void Host::PowerOff() {
  up_ = false;
  if (!process_) return;
  NodeAgent* const agent = agent_.get();
  Process* const process = process_.get();
  agent->DropProgram();
  dead_.emplace_back(std::move(process_), std::move(agent_));
  Sweep();
  process->Kill();
}

void Host::KillAgent(int64_t down_ms) {
  if (!up_ || !process_) return;
  world.Tell(id, "the agent is killed");
  Process* const process = process_.get();
  agent_->DropProgram();
  dead_.emplace_back(std::move(process_), std::move(agent_));
  Sweep();
  world.scheduler().In(down_ms, [this, self = id, &w = world] {
    const auto found = w.hosts().find(self);
    if (found != w.hosts().end() && found->second.get() == this && !process_) StartAgent();
  });
  process->Kill();
}

void Host::PauseAgent(int64_t ms) {
  if (!process_) return;
  process_->PauseUntil(world.now() + ms);
  stood_still_until_ = std::max(stood_still_until_, world.now() + ms);
}

void Host::Sweep() {
  world.scheduler().In(0, [self = id, &w = world] {
    const auto found = w.hosts().find(self);
    if (found == w.hosts().end()) return;
    Host& host = *found->second;
    for (auto& [process, agent] : host.dead_) {
      agent.reset();
      process.reset();
    }
    host.dead_.clear();
  });
}

}  // namespace stoker::sim
