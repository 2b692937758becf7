// SPDX-License-Identifier: Apache-2.0
// One world after the other, or several at once in processes of their own.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "sim/play/scenario.h"
#include "sim/world/plan.h"

namespace stoker::sim {

// What a world came to. Sendable as it is from one process to another.
struct Outcome {
  uint64_t index = 0;  // whose, for who asked
  uint64_t seed = 0;
  uint64_t hash = 0;
  int64_t lives = 0;
  int64_t events = 0;
  int64_t ms = 0;      // virtual
  bool broke = false;  // a rule, or an expectation of its scenario
  char rule[64] = {};  // "expectation" = that of a scenario; "crash" = the simulator itself
  char job[32] = {};   // "" = none in particular
  char what[1000] = {};
};

// Of a world that has run.
Outcome OutcomeOf(World& world, const std::vector<Expectation>& expectations);
// Runs the world with every checker.
Outcome RunPlan(const Plan& plan, const std::vector<Expectation>& expectations = {});
// The same world again, as prose; of its job when a rule broke, else of all.
std::vector<std::string> StoryOf(const Plan& plan);

// Calls `run` for 0 … count-1, in `parallel` processes (1 = in this one), and `done` here with each
// outcome, in any order. A process that dies takes its world with it, which is an outcome too.
// Ends when `done` says false: `done` gets no more then, whatever runs still.
// Kills nothing but its own processes, and leaves none behind.
void RunMany(uint64_t count, int parallel, const std::function<Outcome(uint64_t index)>& run,
             const std::function<bool(const Outcome&)>& done);

// Gives outcomes on in the order of their indices, from 0.
class InOrder {
 public:
  // `done` as of RunMany, and so the answer.
  bool Take(const Outcome& outcome, const std::function<bool(const Outcome&)>& done);

 private:
  uint64_t next_ = 0;
  std::map<uint64_t, Outcome> waiting_;
};

// Sums that do not depend on the order of the outcomes.
struct Totals {
  uint64_t seeds = 0;
  int64_t lives = 0;
  int64_t events = 0;
  int64_t ms = 0;
  uint64_t breaches = 0;
  uint64_t hash = 0;
  void Add(const Outcome& outcome);
};

}  // namespace stoker::sim
