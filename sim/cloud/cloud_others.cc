// SPDX-License-Identifier: Apache-2.0
// Who else is in the account, what machines cost there, and what those that nobody lends do
// differently: nodes of a scheduler, and boxes in a corridor. And machines that come up and cannot
// begin.
#include <algorithm>

#include "sim/cloud/cloud.h"

namespace stoker::sim {
namespace {

constexpr Duration kTheirs = Duration::Hours(24 * 365);  // they end it when they like
constexpr int64_t kTriesToBegin = 300'000;

}  // namespace

void Cloud::Begin(CloudMachine& machine) {
  const int64_t now = scheduler_.now();
  const auto trouble = boot_troubles.find(machine.zone);
  if (trouble == boot_troubles.end() || now >= trouble->second.until) {
    if (booted) booted(machine);
    return;
  }
  const int64_t tries_until = machine.booted_at + kTriesToBegin;
  if (now >= tries_until) {
    machine.boot_failure = trouble->second.failure;
    return End(machine.id, "powered off: it could not begin");
  }
  Later(machine, std::min(tries_until, trouble->second.until),
        [this](CloudMachine& m) { Begin(m); });
}

std::optional<int> Cloud::OwnerOf(const std::string& token) const {
  const auto known = by_token_.find(token);
  if (known == by_token_.end()) return std::nullopt;
  return machines_.at(known->second.front()).owner;
}

std::string Cloud::AddForeign(const std::string& zone, const std::string& like) {
  const auto there =
      std::find_if(zones.begin(), zones.end(), [&](const Zone& z) { return z.name == zone; });
  if (there == zones.end() || there->running >= there->capacity) return "";
  LaunchRequest request;
  request.launches = {0};
  int index = 0;
  if (const CloudMachine* const model = Find(like)) {
    request = model->request;
    index = model->index;
    request.token.clear();
  }
  request.ask.place.provider = there->provider;
  request.limit = kTheirs;
  const int before = asking_;
  asking_ = kNobodyOfOurs;
  CloudMachine& machine = Add(request, index, *there, 0, std::nullopt);
  asking_ = before;
  machine.gang = {machine.id};
  return machine.id;
}

void Cloud::SetPrice(const std::string& name, int64_t price, int64_t lead) {
  for (Zone& zone : zones) {
    if (zone.name == name) zone.price = price;
  }
  std::vector<std::string> dear;
  for (const auto& [id, machine] : machines_) {
    if (machine.zone != name || machine.state == InstanceState::kGone) continue;
    const std::optional<int64_t>& ceiling = machine.request.ask.ceiling;
    if (machine.owner != kNobodyOfOurs && ceiling && price > *ceiling) dear.push_back(id);
  }
  for (const std::string& id : dear) Take(id, lead);
}

// As provider/slurm tells of a job that was requeued, and provider/ssh of a box that does not
// answer: what may run there is not known to be gone.
void Cloud::TellOtherwise(const CloudMachine& machine, int64_t now, InstanceSeen* seen) {
  if (now < machine.away_until) {
    InstanceSeen unreached = SeenOf(machine.request, machine.index, machine.id);
    unreached.state = InstanceState::kQueued;
    unreached.address = machine.address;
    unreached.why = "it does not answer";
    *seen = std::move(unreached);
  } else if (machine.requeued && machine.state != InstanceState::kGone) {
    seen->state = InstanceState::kGone;
    seen->why = "it was requeued";
    seen->ended_by = EndedBy::kPlatform;
    seen->freed = false;
    seen->up_for.reset();
  }
}

void Cloud::Requeue(const std::string& id, int64_t queue_ms) {
  const CloudMachine* const first = Find(id);
  if (first == nullptr) return;
  for (const std::string& each : std::vector<std::string>(first->gang)) {
    CloudMachine& machine = machines_.at(each);
    const InstanceState state = machine.state;
    if (state == InstanceState::kGone || state == InstanceState::kQueued) continue;
    machine.requeued = true;
    machine.notice.reset();
    ++machine.notices;
    ++machine.power;
    machine.expires_at = scheduler_.now() + kTheirs.ms;  // its time begins anew
    Enter(machine, InstanceState::kQueued);
    Later(machine, scheduler_.now() + queue_ms, [this](CloudMachine& m) { LeaveQueue(m); });
    if (emptied) emptied(machine);
  }
}

void Cloud::Hide(const std::string& id, int64_t ms) {
  CloudMachine* const machine = Find(id);
  if (machine == nullptr) return;
  machine->away_until = std::max(machine->away_until, scheduler_.now() + ms);
}

}  // namespace stoker::sim
