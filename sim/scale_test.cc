// SPDX-License-Identifier: Apache-2.0
#include "sim/scale.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <ctime>
#include <string>
#include <vector>

namespace stoker::sim {
namespace {

constexpr int kActive = 100;

struct Timed {
  std::string name;
  PassCost cost;
  int64_t cpu_us = 0;
};

int64_t CpuMicroseconds() {
  timespec now = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return int64_t{now.tv_sec} * 1'000'000 + now.tv_nsec / 1'000;
}

std::vector<Timed> PassesOver(int finished, bool many_nodes) {
  ScaleSetting setting;
  setting.finished = finished;
  setting.active = kActive;
  setting.many_nodes = many_nodes;
  ScaleWorld world(setting);
  std::vector<Timed> passes;
  const auto pass = [&](const std::string& name) {
    const int64_t begin = CpuMicroseconds();
    const PassCost cost = world.Pass();
    passes.push_back({name, cost, CpuMicroseconds() - begin});
    EXPECT_EQ(cost.result.active, kActive) << name;
    EXPECT_EQ(cost.result.passed, kActive) << name;
    EXPECT_EQ(world.passed().size(), size_t{kActive}) << name;
    EXPECT_EQ(cost.store.puts + cost.launches + cost.terminates, 0)
        << name << ": there is nothing to decide";
    world.LetPass(15'000);
  };
  pass("first");
  pass("nothing changed");
  world.Change(kActive / 10);
  pass("10 jobs changed");
  world.Beat();
  pass("every node reported");
  return passes;
}

}  // namespace

// Show 6, as ctest shows it. Requests are asserted; times are printed, as no test asserts a time.
TEST(sim, scale) {
  for (const bool many_nodes : {false, true}) {
    const std::vector<Timed> alone = PassesOver(0, many_nodes);
    const std::vector<Timed> beside = PassesOver(10'000, many_nodes);
    ASSERT_EQ(alone.size(), beside.size());
    for (size_t i = 0; i < alone.size(); ++i) {
      EXPECT_LE(beside[i].cost.requests(), 2 * alone[i].cost.requests()) << alone[i].name;
      EXPECT_LE(beside[i].cost.store.lists, alone[i].cost.store.lists + kActive) << alone[i].name;
      std::printf(
          "%-20s alone %5lld requests %6.1f ms, beside 10,000 ended %5lld requests %6.1f ms\n",
          alone[i].name.c_str(), static_cast<long long>(alone[i].cost.requests()),
          static_cast<double>(alone[i].cpu_us) / 1e3,
          static_cast<long long>(beside[i].cost.requests()),
          static_cast<double>(beside[i].cpu_us) / 1e3);
    }
  }
}

TEST(Scale, WhatIsToBeDecidedIsDecided) {
  ScaleSetting setting;
  setting.finished = 20;
  setting.active = 40;  // 400 nodes
  ScaleWorld world(setting);
  world.Pass();
  world.LetPass(15'000);
  // The first five have 1, 2, 1, 100 and 1 nodes: each of their machines must be replaced.
  world.Warn(5);
  const PassCost cost = world.Pass();
  EXPECT_EQ(cost.result.passed, 40);
  EXPECT_EQ(cost.store.puts, 5);
  EXPECT_EQ(cost.launches, 105);
  EXPECT_EQ(cost.terminates, 0);
  // And only once.
  world.LetPass(2'000);
  const PassCost again = world.Pass();
  EXPECT_EQ(again.store.puts + again.launches + again.terminates, 0);
}

TEST(Scale, ASilentNodeIsFoundAmongManyJobs) {
  ScaleSetting setting;
  setting.active = 20;  // 200 nodes
  ScaleWorld world(setting);
  int64_t puts = 0;
  // All others report; those of the last job do not any more.
  for (int i = 0; i < 8; ++i) {
    world.LetPass(15'000);
    world.Change(19);
    puts += world.Pass().store.puts;
  }
  EXPECT_EQ(puts, 1) << "its launches are closed in the record, once";
}

}  // namespace stoker::sim
