// SPDX-License-Identifier: Apache-2.0
// Writes that were given up and take effect all the same, when everybody has gone on: they must not
// bring anything back.
#include <gtest/gtest.h>

#include "checkpoint/checkpoint_store.h"
#include "checkpoint/keeper.h"
#include "test/checkpoint/fake_files.h"
#include "test/checkpoint/late_store.h"
#include "test/kit/memory_store.h"

namespace stoker::test {
namespace {

// One node's keeper over a store that is shared with those before and after it.
struct Node {
  Node(HandClock& node_clock, ObjectStore& store, int attempt, int keep = 1, int rank = 0,
       int nodes = 1)
      : clock(node_clock), files(node_clock) {
    KeeperConfig config;
    config.job = "job";
    config.attempt = attempt;
    config.keep = keep;
    config.rank = rank;
    config.num_nodes = nodes;
    config.nonce_seed = static_cast<uint64_t>(attempt * 10 + rank);
    config.may_commit = [this] { return may_commit; };
    keeper = std::make_unique<CheckpointKeeper>(config, store, clock, files);
    EXPECT_TRUE(keeper->Begin().ok());
  }
  void Run(Duration time) {
    const MonoTime end = clock.now + time;
    while (clock.now < end) {
      clock.now = clock.now + Duration::Ms(20);
      Pass();
    }
  }
  void Pass() {
    keeper->Step();
    while (keeper->RunUpload()) keeper->Step();
  }
  void Save(int step) {
    files.Write("checkpoint.pt", "step " + std::to_string(step));
    Run(Duration::Seconds(26));  // the first of an attempt waits for so long
  }

  HandClock& clock;
  FakeFiles files;
  bool may_commit = true;
  std::unique_ptr<CheckpointKeeper> keeper;
};

class LateWrites : public testing::Test {
 protected:
  // The ids of all that is committed, newest first; each of them is whole.
  std::vector<std::string> Committed() {
    std::vector<std::string> ids;
    const auto all = ListCheckpoints(memory, "job");
    EXPECT_TRUE(all.ok());
    if (!all.ok()) return ids;
    for (const CheckpointInfo& info : *all) {
      EXPECT_TRUE(info.whole) << info.why_not;
      ids.push_back(info.id);
    }
    return ids;
  }
  using Ids = std::vector<std::string>;

  HandClock clock;
  MemoryStore memory;
  LateStore store{memory};
};

TEST_F(LateWrites, DoNotBringBackACheckpointThatWasClearedAway) {
  Node node(clock, store, 1);
  store.Hold("/manifests/", 2);
  node.Save(1);
  ASSERT_EQ(Committed(), Ids{"1-1"});
  ASSERT_EQ(store.held(), 2);
  node.Save(2);
  ASSERT_EQ(Committed(), Ids{"1-2"});
  store.Land();
  EXPECT_EQ(Committed(), Ids{"1-2"});
  node.Save(3);
  EXPECT_EQ(Committed(), Ids{"1-3"});
}

TEST_F(LateWrites, DoNotBringBackOneThatTheNextAttemptClearedAway) {
  {
    Node node(clock, store, 1);
    store.Hold("/manifests/", 1);
    node.Save(1);
    node.Save(2);
  }
  store.Hold("/manifests/", 1);
  {
    Node node(clock, store, 2);
    node.Save(3);
    node.Save(4);
  }
  Node node(clock, store, 3);
  node.Save(5);
  ASSERT_EQ(Committed(), Ids{"3-1"});
  store.Land();
  EXPECT_EQ(Committed(), Ids{"3-1"});
}

TEST_F(LateWrites, DoNotAddToAnAttemptThatIsSealed) {
  Node node(clock, store, 1, 3);
  node.Save(1);
  store.Hold("/manifests/", 1000);
  node.Save(2);
  ASSERT_TRUE(SealAttempt(memory, "job", 1).ok());
  store.Hold("", 0);
  EXPECT_EQ(store.Land(), 0);
  EXPECT_EQ(Committed(), Ids{"1-1"});
  node.may_commit = false;
  node.Run(Duration::Minutes(2));
  EXPECT_EQ(Committed(), Ids{"1-1"});
}

TEST_F(LateWrites, DoNotAddToASealedAttemptWhenNothingHadToBeUploaded) {
  Node node(clock, store, 1, 3);
  node.Save(1);
  store.Hold("/manifests/", 1000);
  node.files.Write("again.pt", "step 1");  // the store has these bytes under another name
  node.Run(Duration::Minutes(1));
  ASSERT_GT(store.held(), 0);
  ASSERT_TRUE(SealAttempt(memory, "job", 1).ok());
  EXPECT_EQ(store.Land(), 0);
  EXPECT_EQ(Committed(), Ids{"1-1"});
}

TEST_F(LateWrites, SealingCostsAnAttemptThatGoesOnNothingButANumber) {
  Node node(clock, store, 1, 3);
  node.Save(1);
  store.Hold("/manifests/", 1);
  node.files.Write("checkpoint.pt", "step 2");
  for (int i = 0; i < 500 && store.held() == 0; ++i) node.Run(Duration::Ms(20));
  ASSERT_GT(store.held(), 0);
  ASSERT_TRUE(SealAttempt(memory, "job", 1).ok());
  node.Run(Duration::Seconds(5));
  EXPECT_EQ(Committed(), (Ids{"1-3", "1-1"}));
  EXPECT_EQ(store.Land(), 0);
}

TEST_F(LateWrites, NothingIsCommittedWhileNobodyCanTellWhetherItMay) {
  HandClock& now = clock;
  FakeFiles files(now);
  KeeperConfig config;
  config.job = "job";
  Result<bool> may = Status(Code::kUnavailable, "away");
  config.may_commit = [&may] { return may; };
  CheckpointKeeper keeper(config, store, now, files);
  ASSERT_TRUE(keeper.Begin().ok());
  const auto run = [&] {
    for (int i = 0; i < 2000; ++i) {
      now.now = now.now + Duration::Ms(20);
      keeper.Step();
      while (keeper.RunUpload()) keeper.Step();
    }
  };
  files.Write("checkpoint.pt", "step 1");
  run();
  EXPECT_EQ(Committed(), Ids{});
  may = true;
  run();
  EXPECT_EQ(Committed(), Ids{"1-1"});
}

TEST_F(LateWrites, AnAttemptThatSeesALaterOneClearsNothingAway) {
  Node first(clock, store, 1);
  first.Save(1);
  Node second(clock, store, 2, 3);
  second.Save(2);
  ASSERT_EQ(Committed(), (Ids{"2-1", "1-1"}));
  first.Save(3);
  EXPECT_EQ(Committed(), (Ids{"2-1", "1-2", "1-1"}));
}

// A node that has ended uploads its last word under the number of the next round; then that round
// comes, and asks for the moment before.
TEST_F(LateWrites, DoNotFallOnWhatWasUploadedUnderTheSameNumberSince) {
  Node leader(clock, memory, 1, 3, 0, 2);
  Node other(clock, store, 1, 3, 1, 2);
  const auto run = [&](Duration time) {
    for (const MonoTime end = clock.now + time; clock.now < end;) {
      clock.now = clock.now + Duration::Ms(20);
      leader.Pass();
      other.Pass();
    }
  };
  leader.files.Write("shard-0", "shard 0 of step 0");
  other.files.Write("shard-1", "shard 1 of step 0");
  run(Duration::Seconds(50));
  ASSERT_EQ(Committed().size(), 1u);
  leader.files.Open("shard-0");
  other.files.Write("shard-1", "shard 1 of step 1");
  run(Duration::Seconds(4));
  other.files.Write("shard-1", "shard 1 of step 2");
  run(Duration::Seconds(4));
  other.files.alive = false;
  store.Hold("/data/1-1-", 3);
  other.keeper->ProgramEnded(TaskExit{}, false);
  for (int i = 0; i < 500 && store.held() == 0; ++i) run(Duration::Ms(20));
  ASSERT_GT(store.held(), 0);
  leader.files.Close("shard-0", "shard 0 of step 1");
  run(Duration::Seconds(60));
  ASSERT_GT(Committed().size(), 1u);
  EXPECT_GT(store.Land(), 0);
  const auto newest = NewestCheckpoint(memory, "job", {});
  ASSERT_TRUE(newest.ok() && newest->has_value());
  FakeDirectory directory;
  const Status restored = RestoreCheckpoint(memory, "job", (*newest)->id, 1, directory);
  EXPECT_TRUE(restored.ok()) << restored.ToString();
  EXPECT_EQ(directory.files["shard-1"].substr(0, 15), "shard 1 of step");
}

}  // namespace
}  // namespace stoker::test
