// SPDX-License-Identifier: Apache-2.0
// Times without room on one disk that overlap.
#include <gtest/gtest.h>

#include <map>

#include "sim/node/host.h"
#include "sim/world/world.h"

namespace stoker::sim {
namespace {

FaultPlan Of(const char* kind, int64_t at, int64_t amount) {
  FaultPlan fault;
  fault.kind = kind;
  fault.at = at;
  fault.amount = amount;
  return fault;
}

// Seed 22050025819: one ended the next a tenth of a second after it had begun, so that no watch saw
// what had refused one of two files.
TEST(DisksTest, ATimeWithoutRoomDoesNotEndAnother) {
  Plan plan;
  plan.seed = 1;
  plan.calm = 20 * 60'000;
  plan.jobs.resize(1);
  plan.jobs[0].program.steps = 1'000;
  plan.jobs[0].program.step_ms = 1'000;
  plan.controllers = {{ControllerKind::kDaemon}};
  constexpr int64_t kSecond = 1'000;
  plan.faults = {
      Of("full-disk", 200 * kSecond, 100 * kSecond), Of("full-disk", 250 * kSecond, 10 * kSecond),
      Of("refuse-room", 290 * kSecond, 40 * kSecond), Of("full-disk", 320 * kSecond, 5 * kSecond)};
  World world(plan);
  std::map<int64_t, bool> full;  // by second
  for (const int64_t second : {199, 201, 261, 289, 301, 326, 329, 331}) {
    world.scheduler().At(second * kSecond, [&world, &full, second] {
      ASSERT_EQ(world.hosts().size(), 1U);
      full[second] = world.hosts().begin()->second->disk.full();
    });
  }
  world.Run();
  EXPECT_EQ(full, (std::map<int64_t, bool>{{199, false},
                                           {201, true},
                                           {261, true},
                                           {289, true},
                                           {301, true},
                                           {326, true},
                                           {329, true},
                                           {331, false}}));
}

}  // namespace
}  // namespace stoker::sim
