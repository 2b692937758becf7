// SPDX-License-Identifier: Apache-2.0
// Two ledgers in one account, and what sweeps it.
#include <gtest/gtest.h>

#include <set>

#include "sim/check/checks.h"
#include "sim/play/runs.h"
#include "sim/world/world.h"

namespace stoker::sim {
namespace {

Plan TwoLedgers(uint64_t seed) {
  Plan plan;
  plan.seed = seed;
  plan.calm = 60'000;
  plan.lists_all = true;
  plan.neighbour = static_cast<int64_t>(seed) + 100;
  plan.jobs.resize(2);
  plan.controllers = {{ControllerKind::kDaemon}};
  return plan;
}

TEST(AccountTest, TwoLedgersHaveJobsOfOneIdAndMachinesOfTheirOwn) {
  int same = 0;
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    World world(TwoLedgers(seed));
    ASSERT_NE(world.neighbour(), nullptr);
    const Checks checks = WatchAll(world);
    world.Run();
    ASSERT_FALSE(world.breach()) << world.breach()->what;
    for (const auto& [id, job] : world.neighbour()->jobs()) {
      EXPECT_TRUE(IsFinal(job.state)) << id;
      same += static_cast<int>(world.jobs().count(id));
    }
    std::set<int> owners;
    for (const auto& [id, machine] : world.cloud().machines()) owners.insert(machine.owner);
    EXPECT_EQ(owners, (std::set<int>{0, 1}));
    EXPECT_EQ(world.cloud().Running(), 0);
    EXPECT_GE(world.lives, static_cast<int64_t>(world.neighbour()->jobs().size()) + 2);
  }
  EXPECT_GT(same, 0);
}

TEST(AccountTest, OneSeedIsOneWorldAlsoWithANeighbour) {
  const Outcome first = RunPlan(TwoLedgers(3));
  const Outcome second = RunPlan(TwoLedgers(3));
  EXPECT_EQ(first.hash, second.hash);
  Plan alone = TwoLedgers(3);
  alone.neighbour = 0;
  EXPECT_NE(RunPlan(alone).hash, first.hash);
}

// Nobody looks for three days, and the machine is off: what sweeps the account ends it within an
// hour of its limit, and without that it is there until somebody looks.
TEST(AccountTest, WhatIsOffIsEndedByTheSweeperAlone) {
  constexpr int64_t kHour = 3'600'000;
  for (const bool swept : {true, false}) {
    Plan plan;
    plan.calm = 120'000;
    plan.tier = Tier::kVerbs;
    plan.limit = 100 * kHour;
    plan.limit_needs_boot = true;
    plan.jobs.resize(1);
    plan.jobs.front().attached = false;
    plan.jobs.front().program.steps = 300;
    plan.controllers = {{ControllerKind::kDaemon, 0, 70'000},
                        {ControllerKind::kVerb, 72 * kHour, -1, 60'000}};
    if (swept) plan.controllers.push_back({ControllerKind::kSweeper, 0, -1, kHour});
    plan.faults.push_back({"stop"});
    plan.faults.back().at = 80'000;
    World world(plan);
    const Checks checks = WatchAll(world);
    world.Run();
    ASSERT_FALSE(world.breach()) << world.breach()->what;
    const CloudMachine& first = world.cloud().machines().begin()->second;
    const int64_t hours = (first.gone_at - first.made_at) / kHour;
    EXPECT_EQ(hours, swept ? 24 : 72);
    EXPECT_EQ(world.jobs().begin()->second.state, JobState::kSucceeded);
  }
}

}  // namespace
}  // namespace stoker::sim
