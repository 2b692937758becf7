// SPDX-License-Identifier: Apache-2.0
// Random worlds, one a seed. To see one again: STOKER_MODEL_SEED=<seed> model_test; more of them:
// STOKER_MODEL_WORLDS=<number>.
#include "test/model/world.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/text.h"

namespace stoker::model {
namespace {

uint64_t FromEnvironment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

std::string Told(const World& world) { return world.breach() + "\n" + Join(world.story(), "\n"); }

TEST(WorldTest, RandomWorldsKeepEveryPromise) {
  const uint64_t only = FromEnvironment("STOKER_MODEL_SEED", 0);
  const uint64_t worlds = FromEnvironment("STOKER_MODEL_WORLDS", 300);
  const uint64_t first = only != 0 ? only : 1;
  const uint64_t last = only != 0 ? only : worlds;
  std::map<std::string, int> results;
  int64_t events = 0;
  int64_t attempts = 0;
  int broken = 0;
  for (uint64_t seed = first; seed <= last && broken < 3; ++seed) {
    World world(seed, World::Draw(seed));
    world.Run();
    if (only != 0) std::printf("%s\n", Told(world).c_str());
    if (!world.breach().empty()) {
      ++broken;
      ADD_FAILURE() << "seed " << seed << ": " << Told(world);
    }
    ++results[std::string(Name(world.job().state))];
    events += world.events();
    attempts += static_cast<int64_t>(world.job().attempts.size());
  }
  for (const auto& [state, count] : results) std::printf("%6d %s\n", count, state.c_str());
  std::printf("%6lld attempts, %lld events\n", static_cast<long long>(attempts),
              static_cast<long long>(events));
}

TEST(WorldTest, AQuietWorldNeedsOneAttempt) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Plan plan;
    plan.nodes = static_cast<int>(seed % 3) + 1;
    plan.faults = 0;
    plan.noise = 0;
    plan.calm = 0;
    World world(seed, plan);
    world.Run();
    EXPECT_EQ(world.breach(), "") << Told(world);
    EXPECT_EQ(world.job().attempts.size(), 1U);
    EXPECT_LE(world.job().rev, 5) << "every write costs a request";
  }
}

TEST(WorldTest, TheSameSeedGivesTheSameStory) {
  for (uint64_t seed : {3U, 5U, 8U}) {
    World one(seed, World::Draw(seed));
    World two(seed, World::Draw(seed));
    one.Run();
    two.Run();
    EXPECT_EQ(one.story(), two.story());
  }
}

}  // namespace
}  // namespace stoker::model
