// SPDX-License-Identifier: Apache-2.0
// What docs/guarantees-why.md says of the tiers in words; sim_tiers prints the numbers.
#include "sim/measure/tiers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace stoker::sim {
namespace {

constexpr int64_t kMinuteOfTiers = 60'000;
constexpr int64_t kHourOfTiers = 60 * kMinuteOfTiers;
constexpr int kSeeds = 2;

template <typename T>
const T& Named(const std::vector<T>& all, const std::string& name) {
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const T& one) { return one.name == name; });
  if (found == all.end()) ADD_FAILURE() << "there is no " << name;
  return found == all.end() ? all.front() : *found;
}

// Every outcome of a story under a cast; none broke a rule, and each ended as it should.
std::vector<TierOutcome> Play(const std::string& cast, const std::string& story, int nodes) {
  std::vector<TierOutcome> runs;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE(cast + ", " + story + ", nodes " + std::to_string(nodes) + ", seed " +
                 std::to_string(seed));
    runs.push_back(
        PlayTier({Named(TierCasts(), cast), Named(TierStories(), story), TierJob(nodes), seed}));
    const TierOutcome& run = runs.back();
    EXPECT_FALSE(run.breach.has_value()) << run.breach->rule << ": " << run.breach->what;
    EXPECT_TRUE(run.right) << "no job needs a retry: a look is enough";
    EXPECT_LE(run.redone_ms, 10 * kMinuteOfTiers)
        << "never more than from one checkpoint to the next";
  }
  return runs;
}

void ExpectAlone(const std::string& cast, const std::string& story, int nodes, int64_t within) {
  for (const TierOutcome& run : Play(cast, story, nodes)) {
    SCOPED_TRACE(cast + ", " + story + ", nodes " + std::to_string(nodes));
    EXPECT_TRUE(run.alone);
    EXPECT_EQ(run.by_hand, 0);
    EXPECT_LE(run.stood_ms, within);
  }
}

void ExpectStuck(const std::string& cast, const std::string& story, int nodes) {
  for (const TierOutcome& run : Play(cast, story, nodes)) {
    SCOPED_TRACE(cast + ", " + story + ", nodes " + std::to_string(nodes));
    EXPECT_FALSE(run.trained);
    EXPECT_GT(run.by_hand, 0);
  }
}

}  // namespace

TEST(Tiers, TogetherEveryJobEndsByItself) {
  for (const int nodes : {1, 2}) {
    ExpectAlone("all", "nothing happens", nodes, 0);
    ExpectAlone("all", "notice of 120 s", nodes, 4 * kMinuteOfTiers);
    ExpectAlone("all", "notice of 30 s", nodes, 4 * kMinuteOfTiers);
    ExpectAlone("all", "taken without notice, or fails", nodes, 4 * kMinuteOfTiers);
    ExpectAlone("all", "taken so, and no machine for an hour", nodes, 70 * kMinuteOfTiers);
    ExpectAlone("all", "the node hangs", nodes, 6 * kMinuteOfTiers);
    ExpectAlone("all", "the agent is killed", nodes, 3 * kMinuteOfTiers);
    ExpectAlone("all", "the bucket is away for an hour", nodes, 0);
    ExpectAlone("all", "the laptop is closed mid-launch, for 8 h", nodes, 6 * kMinuteOfTiers);
  }
}

TEST(Tiers, NodesRecoverWhileOneOfThemLives) {
  ExpectAlone("agents", "taken without notice, or fails", 2, 4 * kMinuteOfTiers);
  ExpectAlone("agents", "the node hangs", 2, 6 * kMinuteOfTiers);
  ExpectAlone("agents", "notice of 120 s", 1, 3 * kMinuteOfTiers);
  ExpectStuck("agents", "taken without notice, or fails", 1);
  ExpectStuck("agents", "the node hangs", 1);
}

TEST(Tiers, ADepartingNodeHandsOverAndNoMore) {
  for (const TierOutcome& run : Play("departing", "notice of 120 s", 1)) {
    EXPECT_TRUE(run.trained);
    EXPECT_FALSE(run.alone) << "nobody writes down that it ended";
    EXPECT_LT(run.left_ms, 25 * kMinuteOfTiers) << "its machine does not wait for its lease";
  }
  ExpectStuck("departing", "taken without notice, or fails", 1);
  ExpectStuck("departing", "the agent is killed", 1);
}

TEST(Tiers, ATimerAloneSeesAll) {
  ExpectAlone("timer", "notice of 30 s", 1, 4 * kMinuteOfTiers);
  ExpectAlone("timer", "taken without notice, or fails", 1, 5 * kMinuteOfTiers);
  ExpectAlone("timer", "the agent is killed", 2, 4 * kMinuteOfTiers);
  ExpectAlone("timer", "the laptop is closed mid-launch, for 8 h", 1, 6 * kMinuteOfTiers);
  ExpectAlone("timer", "the node hangs", 1, 9 * kMinuteOfTiers);
  ExpectAlone("timer", "the node hangs", 2, 9 * kMinuteOfTiers);
}

TEST(Tiers, AFunctionSeesAll) {
  for (const int nodes : {1, 2}) {
    ExpectAlone("away", "taken without notice, or fails", nodes, 25 * kMinuteOfTiers);
    ExpectAlone("away", "the node hangs", nodes, 45 * kMinuteOfTiers);
    ExpectAlone("away, deaf", "taken without notice, or fails", nodes, 25 * kMinuteOfTiers);
    ExpectAlone("away, deaf", "the node hangs", nodes, 45 * kMinuteOfTiers);
  }
}

TEST(Tiers, AnHourWithoutTheBucketCostsNothing) {
  for (const TierCast& cast : TierCasts()) {
    for (const TierOutcome& run : Play(cast.name, "the bucket is away for an hour", 1)) {
      EXPECT_TRUE(run.trained) << cast.name;
      EXPECT_EQ(run.stood_ms, 0) << cast.name;
      EXPECT_EQ(run.redone_ms, 0) << cast.name;
    }
  }
}

}  // namespace stoker::sim
