// SPDX-License-Identifier: Apache-2.0
// Who else is in the account, and what machines cost there.
#include <algorithm>

#include "sim/cloud/cloud.h"

namespace stoker::sim {
namespace {

constexpr Duration kTheirs = Duration::Hours(24 * 365);  // they end it when they like

}  // namespace

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

}  // namespace stoker::sim
