// SPDX-License-Identifier: Apache-2.0
#include "test/model/world.h"

#include <algorithm>

namespace stoker::model {
namespace {

// How long the world may go on after its faults have stopped. A machine that boots but never
// reports is given up after 20 minutes; everything else is faster.
constexpr int64_t kPatience = 3 * 3'600'000;

}  // namespace

Plan World::Draw(uint64_t seed) {
  Prng rng(seed * 7919 + 17);
  Plan plan;
  plan.nodes = static_cast<int>(rng.Between(1, 3));
  plan.controllers = static_cast<int>(rng.Between(1, 3));
  // Some programs go on for longer than it takes to give up a node that is silent.
  plan.steps = static_cast<int>(rng.Chance(1, 3) ? rng.Between(150, 400) : rng.Between(1, 120));
  plan.checkpoint_every = static_cast<int>(rng.Between(2, 20));
  plan.ignores_term = rng.Chance(1, 6);
  plan.zero_on_term = rng.Chance(1, 3);
  plan.faults = rng.Chance(1, 8) ? 0 : static_cast<int>(rng.Between(1, 12));
  plan.noise = rng.Chance(1, 4) ? 0 : static_cast<int>(rng.Between(1, 120));
  plan.calm = rng.Between(60, 500) * 1000;
  switch (rng.Below(10)) {
    case 0:
      plan.crash_at = static_cast<int>(rng.Between(0, plan.steps - 1));
      plan.max_restarts = static_cast<int>(rng.Below(3));
      break;
    case 1:
      plan.crash_at = static_cast<int>(rng.Between(0, plan.steps - 1));
      plan.crash_once = true;
      plan.max_restarts = 1;
      break;
    case 2:
      plan.poisoned_step = plan.checkpoint_every * static_cast<int>(rng.Between(1, 4));
      break;
    case 3:
      plan.corrupt_step = plan.checkpoint_every * static_cast<int>(rng.Between(1, 4));
      break;
    case 4:
      plan.setup_fails = rng.Chance(1, 3);
      plan.refused = !plan.setup_fails && rng.Chance(1, 3);
      break;
    case 5:
      plan.max_duration = Duration::Seconds(std::max(1, plan.steps / 2));
      break;
    default:
      break;
  }
  if (rng.Chance(1, 5)) plan.cancel_at = rng.Between(0, 200'000);
  return plan;
}

World::World(uint64_t seed, Plan plan) : plan_(std::move(plan)), rng_(seed) {
  plan_.calm += now_;
  if (plan_.cancel_at >= 0) plan_.cancel_at += now_;
  spec_.num_nodes = plan_.nodes;
  spec_.stop_grace = Duration::Seconds(10);
  spec_.limits.max_duration = plan_.max_duration;
  spec_.job_recovery.max_restarts_on_errors = plan_.max_restarts;
  record_.id = "w0r1-" + std::to_string(seed);
  record_.num_nodes = plan_.nodes;
  record_.rev = 1;
}

void World::At(int64_t time, Effect effect) {
  queue_.emplace(std::make_pair(std::max(time, now_), rng_.Next()), std::move(effect));
}

void World::Tell(const std::string& what) {
  story_.push_back(std::to_string(now_ - 1'000'000) + " ms  " + what);
}

void World::Run() {
  for (int i = 0; i < plan_.controllers; ++i) Controller(std::make_shared<Reader>());
  for (int i = 0; i < plan_.faults; ++i) {
    At(rng_.Between(now_, plan_.calm), [this] { Fault(); });
  }
  if (plan_.cancel_at >= 0) At(plan_.cancel_at, [this] { Cancel(); });
  while (breach_.empty() && !queue_.empty()) {
    auto next = queue_.extract(queue_.begin());
    now_ = next.key().first;
    ++events_;
    next.mapped()();
    if (IsFinal(record_.state) && ClearedUp()) break;
    if (events_ > 2'000'000) Breach("so many events that time stands still");
    if (now_ > plan_.calm + kPatience) Breach("not over long after the last fault");
  }
  if (breach_.empty()) CheckOutcome();
}

Machine* World::AnyMachine(bool with_agent) {
  std::vector<Machine*> all;
  for (auto& [id, machine] : machines_) {
    if (!machine.gone && (!with_agent || machine.agent)) all.push_back(&machine);
  }
  return all.empty() ? nullptr : all[rng_.Below(all.size())];
}

void World::GiveNotice(Machine& machine) {
  static constexpr int64_t kLeads[] = {0, 1, 5, 30, 120};
  const int64_t lead = kLeads[rng_.Below(5)] * 1000;
  machine.notice = Notice{"terminate", WallTime{now_ + lead}};
  Tell(machine.instance() + " gets a notice of " + std::to_string(lead) + " ms");
  const int id = machine.id;
  if (lead >= 5000 && rng_.Chance(1, 4)) {
    Soon(1000, lead - 1000, [this, id] {
      Tell("the notice of m" + std::to_string(id) + " is withdrawn");
      machines_[id].notice.reset();
    });
  }
  // Platforms are late at times; what counts on it is kDrainSlack.
  Soon(lead, lead + (rng_.Chance(1, 3) ? 55'000 : 2000), [this, id] {
    Machine& taken = machines_[id];
    if (taken.notice) EndMachine(taken, "taken after its notice");
  });
}

// One thing goes wrong with one machine.
void World::Fault() {
  Machine* machine = AnyMachine(rng_.Chance(3, 4));
  if (machine == nullptr) return;
  const int id = machine->id;
  switch (rng_.Below(8)) {
    case 0:
    case 1:
      GiveNotice(*machine);
      break;
    case 2:
      EndMachine(*machine, "killed without a notice");
      break;
    case 3:
      Tell(machine->instance() + " shuts down");
      machine->shutting_down = true;
      if (machine->program) ExitProgram(*machine, TaskExit{0, 15, false});
      Soon(100, 2000, [this, id] { EndMachine(machines_[id], "shut down"); });
      break;
    case 4:
    case 5:
      if (!machine->agent) break;
      Tell(machine->instance() + ": the agent is killed");
      KillAgent(*machine);
      if (rng_.Chance(1, 5)) {
        EndMachine(*machine, "its agent is dead");
      } else {
        Soon(100, 3000, [this, id] { StartAgent(machines_[id]); });
      }
      break;
    case 6:
      machine->paused_until = now_ + rng_.Between(1, 300) * 1000;
      if (rng_.Chance(1, 6)) machine->paused_until = now_ + 100'000'000;
      Tell(machine->instance() + ": the agent hangs");
      break;
    case 7:
      machine->cut_off_until = now_ + rng_.Between(1, 300) * 1000;
      Tell(machine->instance() + " is cut off from the store");
      break;
    default:
      break;
  }
}

}  // namespace stoker::model
