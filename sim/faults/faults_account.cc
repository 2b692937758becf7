// SPDX-License-Identifier: Apache-2.0
// What others in the account do, and what its market does.
#include "sim/faults/faults.h"

namespace stoker::sim {
namespace {

std::string DrawZone(World& world, const FaultPlan& fault) {
  if (!fault.zone.empty()) return fault.zone;
  const auto& zones = world.cloud().zones;
  return zones[world.rng().Below(zones.size())].name;
}

// Of those that are not gone, any; "" = there is none.
std::string DrawMachine(World& world) {
  std::vector<std::string> there;
  for (const auto& [id, machine] : world.cloud().machines()) {
    if (machine.state != InstanceState::kGone) there.push_back(id);
  }
  return there.empty() ? "" : there[world.rng().Below(there.size())];
}

// Somebody has a machine there for so long. Two in three look like one that is there.
void Foreigner(World& world, const FaultPlan& fault) {
  const std::string zone = DrawZone(world, fault);
  const bool alike = world.rng().Chance(2, 3);
  const std::string like = alike ? DrawMachine(world) : "";
  const std::string id = world.cloud().AddForeign(zone, like);
  if (id.empty()) return;
  ++world.strikes()[fault.kind];
  world.Tell("fault",
             "somebody starts " + id + " in " + zone + (like.empty() ? "" : ", as " + like));
  world.scheduler().In(fault.amount,
                       [&world, id] { world.cloud().End(id, "ended by whose it is"); });
}

// For so long machines cost a multiple of what they usually do, or the half.
void Dearer(World& world, const FaultPlan& fault) {
  constexpr int64_t kLead = 30'000;
  const std::string name = DrawZone(world, fault);
  int64_t usual = 0;
  for (const Zone& zone : world.plan().zones) {
    if (zone.name == name) usual = zone.price;
  }
  if (usual == 0) return;
  ++world.strikes()[fault.kind];
  const int64_t halves = world.rng().Between(1, 8);
  const int64_t price = usual * halves / 2;
  world.Tell("fault", "machines in " + name + " cost " + std::to_string(price));
  world.cloud().SetPrice(name, price, kLead);
  world.scheduler().In(fault.amount,
                       [&world, name, usual] { world.cloud().SetPrice(name, usual, 0); });
}

}  // namespace

const std::vector<FaultKind>& AccountKinds() {
  static const std::vector<FaultKind> kinds = {
      {"foreigner", "ms until it is ended", 10'000, 1'200'000, Foreigner},
      {"price", "ms until it is the usual one", 10'000, 1'200'000, Dearer},
  };
  return kinds;
}

}  // namespace stoker::sim
