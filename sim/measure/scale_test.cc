// SPDX-License-Identifier: Apache-2.0
#include "sim/measure/scale.h"

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

void Print(const Timed& pass) {
  std::printf(" %5lld requests %7.1f s %6.1f ms of CPU",
              static_cast<long long>(pass.cost.requests()),
              static_cast<double>(pass.cost.took_ms) / 1e3, static_cast<double>(pass.cpu_us) / 1e3);
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

// Show 6, as ctest shows it. Requests and the simulated time that they take are asserted; CPU time
// is printed, as no test asserts a real time.
TEST(sim, scale) {
  for (const bool many_nodes : {false, true}) {
    const std::vector<Timed> alone = PassesOver(0, many_nodes);
    const std::vector<Timed> beside = PassesOver(10'000, many_nodes);
    ASSERT_EQ(alone.size(), beside.size());
    for (size_t i = 0; i < alone.size(); ++i) {
      // Twice as many would do; they are the same, one by one.
      EXPECT_EQ(beside[i].cost.requests(), alone[i].cost.requests()) << alone[i].name;
      EXPECT_EQ(beside[i].cost.store.gets, alone[i].cost.store.gets) << alone[i].name;
      std::printf("%-20s alone", alone[i].name.c_str());
      Print(alone[i]);
      std::printf(", beside 10,000 that ended");
      Print(beside[i]);
      std::printf("\n");
    }
  }
}

// Where there are many jobs, what did not change is listed by the thousand.
TEST(Scale, ManyJobsAreListedByTheThousand) {
  ScaleSetting setting;
  setting.active = 1'200;
  setting.finished = 300;
  setting.many_nodes = false;
  ScaleWorld world(setting);
  world.Pass();
  world.LetPass(15'000);
  PassCost cost = world.Pass();
  EXPECT_EQ(cost.result.passed, 1'200);
  EXPECT_EQ(cost.store.gets, 0);
  EXPECT_EQ(cost.store.lists, 2 + 2 + 2) << "markers, records, reports";
  EXPECT_EQ(cost.describes, 1);
  world.LetPass(15'000);
  world.Change(7);
  cost = world.Pass();
  EXPECT_EQ(cost.store.gets, 7 + 7) << "records and reports that changed";
  EXPECT_EQ(cost.store.lists, 6);
  EXPECT_EQ(cost.describes, 1);
  EXPECT_EQ(cost.store.puts, 0);
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
  // All others report; those of the last job do not any more.
  const int64_t begin = world.now();
  for (int64_t puts = 0; puts == 0 && world.now() < begin + 600'000;) {
    world.LetPass(15'000);
    world.Change(19);
    puts = world.Pass().store.puts;
  }
  EXPECT_GT(world.now() - begin, 90'000);
  EXPECT_LT(world.now() - begin, 150'000) << "its launches are closed in the record";
}

}  // namespace stoker::sim
