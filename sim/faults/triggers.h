// SPDX-License-Identifier: Apache-2.0
// What a fault may wait for, so that it strikes in the moment that a scenario is about and not near
// it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sim/world/observer.h"
#include "sim/world/world.h"

namespace stoker::sim {

struct TriggerKind {
  std::string name;
  std::string number;  // what FaultPlan::number is compared with; "" = nothing
};

// Ordered by name.
const std::vector<TriggerKind>& TriggerKinds();
// Null when there is none of that name.
const TriggerKind* FindTrigger(const std::string& name);

// Strikes as the plan's faults say that wait for something, always by an event of its own: what
// they waited for has taken effect, its doer has not heard of it. Nothing strikes once the world is
// calm. Null when the plan has no such fault.
std::unique_ptr<Observer> WatchTriggers(World& world);

}  // namespace stoker::sim
