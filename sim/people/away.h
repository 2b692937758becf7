// SPDX-License-Identifier: Apache-2.0
// The function that looks after jobs where nobody is (controller/away), as a cloud calls it: each
// few minutes by a clock that is late, stutters and forgets, and by events of machines, some of
// which are lost. What a call does is the code that ships; it is killed when its time is over, and
// called again when it has failed.
#pragma once

#include <string>
#include <vector>

#include "sim/people/actor.h"
#include "sim/world/plan.h"

namespace stoker::sim {

// Of the actors that serve the calls of the plan's controller of that index.
inline std::string AwayName(int index) { return "away" + std::to_string(index); }

// `servers` outlive the world's last event; one for each call that may be served at once.
void AddFunction(World& world, const ControllerPlan& plan, const std::vector<Actor*>& servers);

}  // namespace stoker::sim
