// SPDX-License-Identifier: Apache-2.0
// What can go wrong at one moment, each a small component with a name. Scenarios compose them;
// swarms draw them.
#pragma once

#include <string>
#include <vector>

#include "sim/world/plan.h"
#include "sim/world/world.h"

namespace stoker::sim {

struct FaultKind {
  std::string name;
  std::string amount;  // what FaultPlan::amount means, "" = nothing
  int64_t low = 0;     // what a swarm draws it from
  int64_t high = 0;
  void (*strike)(World& world, const FaultPlan& fault);
};

// Ordered by name.
const std::vector<FaultKind>& FaultKinds();
// Damage to what lies in the store (faults_damage.cc). Only worlds that are about it draw from
// these: while an object is unreadable, not everything that else holds can. Ordered by name.
const std::vector<FaultKind>& DamageKinds();
// The store or the disks say no, for hours or for good (faults_refusal.cc). Only worlds that are
// about it draw from these. Ordered by name.
const std::vector<FaultKind>& RefusalKinds();
// What others in the account do (faults_account.cc). Only worlds that are about it draw from these.
// Ordered by name.
const std::vector<FaultKind>& AccountKinds();
// What happens to nodes of a scheduler and to boxes in a corridor (faults_own.cc). Only scenarios
// ask for these. Ordered by name.
const std::vector<FaultKind>& OwnKinds();
// What else only scenarios ask for. Ordered by name.
const std::vector<FaultKind>& ScenarioKinds();
// Of any of these; null when there is none of that name.
const FaultKind* FindFault(const std::string& name);
// Puts those of the plan into the world's queue that wait for nothing but their time.
void ScheduleFaults(World& world);

}  // namespace stoker::sim
