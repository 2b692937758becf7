// SPDX-License-Identifier: Apache-2.0
// A save of several files that was cut short in the one of them that is new each time: what the
// others have by then goes with no older one of it.
#include <gtest/gtest.h>

#include "base/text.h"
#include "test/checkpoint/keeper_bench.h"

namespace stoker::test {
namespace {

std::string RawOf(const std::string& what, int step) {
  return what + " of step " + Padded(step, 6) + std::string(200, '.');
}

std::string ShardName(int step) { return "state-" + Padded(step, 4) + ".raw"; }

// A file of one name, then one of a row, whose last but one goes.
void SaveMetaAndShard(Bench& bench, int step) {
  bench.files.Write("names/meta", RawOf("meta", step));
  bench.Run(Duration::Ms(40));
  bench.files.Write(ShardName(step), RawOf("shard", step));
  const std::string old = ShardName(step - 2);
  if (bench.files.Contents().count(old) != 0) bench.files.Delete(old);
}

void BeginMetaAndShard(Bench& bench, int step) {
  bench.files.Write("names/meta", RawOf("meta", step));
  bench.Run(Duration::Ms(40));
  bench.files.Open(ShardName(step), RawOf("shaRD", step));
  bench.Run(Duration::Ms(40));
}

// The newest shard is of the same step as the other file.
void ExpectOneMoment(const Contents& restored, int step) {
  ASSERT_EQ(restored.count("names/meta"), 1u);
  EXPECT_EQ(restored.at("names/meta"), RawOf("meta", step));
  EXPECT_EQ(restored.rbegin()->second, RawOf("shard", step));
}

TEST(KeeperCutShort, InAnAttemptThatHasSavedNothingYet) {
  Bench first;
  for (int step = 1; step <= 2; ++step) {
    SaveMetaAndShard(first, step);
    first.Run(Duration::Seconds(3));
  }
  ExpectOneMoment(first.Restored(), 2);

  KeeperConfig config;
  config.job = "job";
  config.attempt = 2;
  config.restored = "1-2";
  config.nonce_seed = 6;
  first.keeper = std::make_unique<CheckpointKeeper>(config, first.store, first.clock, first.files);
  ASSERT_TRUE(first.keeper->Begin().ok());
  first.Run(Duration::Seconds(1));
  BeginMetaAndShard(first, 3);
  first.files.Kill();
  first.End(0, 9);
  EXPECT_EQ(first.keeper->commits(), 0);
  ExpectOneMoment(first.Restored(), 2);
}

TEST(KeeperCutShort, InARowOfSaves) {
  for (const int64_t pause : {600, 3'000}) {
    Bench bench;
    for (int step = 1; step <= 5; ++step) {
      SaveMetaAndShard(bench, step);
      bench.Run(Duration::Ms(pause));
    }
    BeginMetaAndShard(bench, 6);
    bench.files.Kill();
    bench.End(0, 9);
    ExpectOneMoment(bench.Restored(), 5);
  }
}

// The program goes on without the one that wrote, and makes its next save.
TEST(KeeperCutShort, ByAWriterWhoseProgramGoesOn) {
  Bench bench;
  for (int step = 1; step <= 4; ++step) {
    SaveMetaAndShard(bench, step);
    bench.Run(Duration::Seconds(3));
  }
  BeginMetaAndShard(bench, 5);
  bench.files.CloseAll(Fate::kKilled);
  bench.Run(Duration::Seconds(60));
  ExpectOneMoment(bench.Restored(), 4);
  SaveMetaAndShard(bench, 6);
  bench.Run(Duration::Seconds(30));
  ExpectOneMoment(bench.Restored(), 6);
}

// A file that is saved more often than the steps come waits for no step.
TEST(KeeperCutShort, HoldsUpNothingThatIsSavedLater) {
  Bench bench;
  bench.files.Write("best.pt", RawOf("best", 1));
  bench.files.Write(ShardName(1), RawOf("shard", 1));
  bench.Run(Duration::Seconds(3));
  bench.files.Open(ShardName(2), RawOf("shaRD", 2));
  bench.Run(Duration::Ms(40));
  bench.files.CloseAll(Fate::kKilled);
  bench.Run(Duration::Seconds(10));
  for (int step = 2; step <= 4; ++step) {
    bench.files.Write("best.pt", RawOf("best", step));
    bench.Run(Duration::Seconds(30));
  }
  const Contents restored = bench.Restored();
  ASSERT_EQ(restored.count("best.pt"), 1u);
  EXPECT_EQ(restored.at("best.pt"), RawOf("best", 4));
  EXPECT_EQ(restored.count(ShardName(2)), 0u);
}

}  // namespace
}  // namespace stoker::test
