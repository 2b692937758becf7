// SPDX-License-Identifier: Apache-2.0
// Scenarios: worlds that people write down. A small text of lines; sim/scenarios/ has the stories
// that people know.
//
//   # What nothing is said about is as plan.h says it, or, of what `swarm` names, as the seed draws
//   # it: platform, jobs, controllers, faults, noise; alone: all of them. It comes first.
//   swarm platform noise
//   calm 20m                                  # PlanFields: a name and a value
//   zone zone-a capacity 4
//   job nodes 2 cancel-at 30s..90s            # the first one takes the place of those drawn
//   program steps 40 on-term dies|ignores     # of the job above; above all jobs: of those drawn
//   controller daemon begin 10s period 5s
//   fault notice at 30s amount 0s|30s|120s    # faults.h
//   fault kill on attempt-running 2 after 5s  # triggers.h; `who cause`, `count 3`, `every 1m`
//   store before 20                           # in a thousand requests; and `cloud …`
//   expect succeeded 1
//   expect strikes notice 1..
//
// Times are 500ms, 30s, 5m, 2h; "never" is what it says. LOW..HIGH and A|B|C are drawn from the
// seed. When the world is calm, users look from time to time and a timer runs, unless a line
// `nobody-looks` or `swarm controllers` is there.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "sim/world/plan.h"
#include "sim/world/world.h"

namespace stoker::sim {

// What must have come about in a world that broke no rule, so that a scenario is known to have
// been about what it says.
struct Expectation {
  std::string what;  // lives, succeeded, failed, cancelled, attempts, machines, strikes, time,
                     // moved (attempts that ended of it)
  std::string kind;  // of `strikes`: which fault
  int64_t low = 0;   // of `time`: ms
  int64_t high = INT64_MAX;
  int line = 0;
};

struct Scenario {
  Plan plan;
  std::vector<Expectation> expectations;
};

// `name` stands in front of messages, which say the line. A line `seed N` of the text counts more
// than `seed`.
Result<Scenario> ParseScenario(const std::string& text, const std::string& name, uint64_t seed);
// A text from which ParseScenario makes exactly this plan.
std::string PrintScenario(const Plan& plan);
// kInvalid, and which, for the first one that does not hold in a world that has run.
Status Met(const std::vector<Expectation>& expectations, const World& world);

}  // namespace stoker::sim
