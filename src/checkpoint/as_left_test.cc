// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/as_left.h"

#include <gtest/gtest.h>

#include "job/checkpoint_name.h"
#include "test/checkpoint/fake_files.h"
#include "test/kit/faulty.h"
#include "test/kit/memory_store.h"

namespace stoker::test {
namespace {

constexpr char kLeftJob[] = "job";

class AsLeftTest : public ::testing::Test {
 protected:
  AsLeftTest() {
    files_.Write("base.db", "rows");
    files_.Write("sub/notes.txt", "n");
    files_.Open("base.db-wal", "half a row");
    files_.Kill();
  }
  Result<AsLeftKept> Keep(int attempt, const std::function<void(AsLeftConfig&)>& set = nullptr) {
    AsLeftConfig config;
    config.job = kLeftJob;
    config.attempt = attempt;
    config.wrote = true;
    config.unkept = true;
    config.nonce = "nonce" + std::to_string(++nonces_);
    config.pause = [this](Duration wait) { clock_.now = clock_.now + wait; };
    if (set) set(config);
    return KeepAsLeft(config, store_, clock_, files_, clock_.now + Duration::Seconds(60));
  }
  std::string Kept() { return Names(ListAsLeft(store_, kLeftJob)); }
  std::string KeptOfNodes() { return Names(ListLeftOfNodes(store_, kLeftJob)); }
  static std::string Names(const Result<std::vector<CheckpointInfo>>& all) {
    std::string names;
    EXPECT_TRUE(all.ok());
    for (const CheckpointInfo& info : *all) {
      names += (names.empty() ? "" : " ") + info.id + (info.whole ? "" : "!");
    }
    return names;
  }

  MemoryStore store_;
  HandClock clock_;
  FakeFiles files_{clock_};
  int nonces_ = 0;
};

TEST_F(AsLeftTest, IsWhatLiesThereByteForByte) {
  files_.Write(".stoker-done", "");
  const auto kept = Keep(2);
  ASSERT_TRUE(kept.ok()) << kept.status().ToString();
  EXPECT_EQ(kept->id, "as-left-2");
  EXPECT_EQ(kept->files, 3);
  EXPECT_EQ(kept->bytes, 15);
  EXPECT_EQ(Kept(), "as-left-2");
  FakeDirectory directory;
  ASSERT_TRUE(RestoreCheckpoint(store_, kLeftJob, "as-left-2", 0, directory).ok());
  auto expected = files_.Contents();
  expected.erase(".stoker-done");
  EXPECT_EQ(directory.files, expected);
  EXPECT_EQ(LoadManifest(store_, kLeftJob, "as-left-2")->reason, "as-left");
}

TEST_F(AsLeftTest, IsNoCheckpointToThoseThatLookForWholeOnes) {
  ASSERT_TRUE(Keep(1).ok());
  EXPECT_TRUE(ListCheckpoints(store_, kLeftJob)->empty());
  EXPECT_FALSE(NewestCheckpoint(store_, kLeftJob, {})->has_value());
  Manifest manifest;
  manifest.job = kLeftJob;
  manifest.id = {2, 1};
  ASSERT_TRUE(store_.Put(ManifestKey(kLeftJob, {2, 1}), EncodeManifest(manifest)).ok());
  ASSERT_TRUE(RetainCheckpoints(store_, kLeftJob, {2, 1, {}, {}}).ok());
  EXPECT_EQ(Kept(), "as-left-1") << "retention clears nothing of it away";
}

TEST_F(AsLeftTest, NothingNewIsNothingToKeep) {
  EXPECT_EQ(Keep(1, [](AsLeftConfig& c) { c.unkept = false; })->id, "");
  EXPECT_EQ(Kept(), "");
}

TEST_F(AsLeftTest, TheTwoNewestStay) {
  for (const int attempt : {1, 2, 5}) ASSERT_TRUE(Keep(attempt).ok());
  EXPECT_EQ(Kept(), "as-left-5 as-left-2");
  int data = 0;
  ASSERT_TRUE(ListAll(store_, "jobs/job/checkpoints/as-left/data/", [&](const ObjectInfo&) {
                ++data;
                return Status::Ok();
              }).ok());
  EXPECT_EQ(data, 6) << "three files of each";
}

TEST_F(AsLeftTest, WhatIsDamagedIsSeen) {
  ASSERT_TRUE(Keep(1).ok());
  const auto manifest = LoadManifest(store_, kLeftJob, "as-left-1");
  const std::string& object = manifest->parts.front().files.front().object;
  ASSERT_TRUE(store_.Delete("jobs/job/checkpoints/" + object).ok());
  EXPECT_EQ(Kept(), "as-left-1!");
}

TEST_F(AsLeftTest, OfSeveralNodesOnlyTheOneThatAloneHasWritten) {
  const auto node = [](int rank, bool wrote) {
    return [rank, wrote](AsLeftConfig& c) {
      c.num_nodes = 2;
      c.rank = rank;
      c.wrote = wrote;
      c.unkept = wrote;
    };
  };
  EXPECT_EQ(Keep(1, node(0, true))->beside,
            "node 1 has not said whether it writes checkpoints, too");
  EXPECT_EQ(Keep(1, node(1, false))->id, "");
  EXPECT_EQ(Keep(1, node(0, true))->id, "as-left-1");
  EXPECT_EQ(Keep(2, node(0, false))->id, "");
  EXPECT_EQ(Keep(2, node(1, true))->id, "as-left-2");
  EXPECT_EQ(Keep(3, node(0, true))->id, "as-left-3-node0");
  const auto both = Keep(3, node(1, true));
  EXPECT_EQ(both->id, "as-left-3-node1");
  EXPECT_NE(both->beside.find("several nodes"), std::string::npos);
  EXPECT_EQ(Kept(), "as-left-2") << "nothing begins from those of several";
  EXPECT_EQ(KeptOfNodes(), "as-left-3-node0 as-left-3-node1");
  EXPECT_EQ(Keep(5, node(1, false))->id, "");
  EXPECT_EQ(Keep(5, node(0, true))->id, "as-left-5");
  EXPECT_EQ(Kept(), "as-left-5");
  EXPECT_EQ(KeptOfNodes(), "as-left-3-node0 as-left-3-node1") << "the two newest stay";
  EXPECT_EQ(Keep(6, node(1, true))->id, "as-left-6-node1");
  EXPECT_EQ(Kept(), "as-left-5");
  EXPECT_EQ(KeptOfNodes(), "as-left-6-node1");
}

TEST_F(AsLeftTest, ComesTooLateForAnAttemptThatIsOver) {
  EXPECT_TRUE(Keep(1, [](AsLeftConfig& c) { c.may_commit = [] { return Result<bool>(false); }; })
                  .status()
                  .Is(Code::kConflict));
  ASSERT_TRUE(SealAttempt(store_, kLeftJob, 1).ok()) << "its data are there: the name is taken";
  EXPECT_TRUE(Keep(1).status().Is(Code::kConflict));
  EXPECT_EQ(Kept(), "");
}

TEST_F(AsLeftTest, EndsWithItsTime) {
  FaultPlan plan;
  plan.before = 1000;
  FaultyStore away(store_, 1, plan);
  AsLeftConfig config;
  config.job = kLeftJob;
  config.wrote = config.unkept = true;
  config.nonce = "n";
  config.pause = [this](Duration wait) { clock_.now = clock_.now + wait; };
  const MonoTime deadline = clock_.now + Duration::Seconds(30);
  const auto kept = KeepAsLeft(config, away, clock_, files_, deadline);
  EXPECT_FALSE(kept.ok());
  EXPECT_LE(clock_.now.ms, deadline.ms);
  EXPECT_TRUE(KeepAsLeft(config, store_, clock_, files_, clock_.now).status().Is(Code::kTimeout));
}

TEST_F(AsLeftTest, AsksAgainWhileTheStoreIsAwayForAMoment) {
  FaultPlan plan;
  plan.before = 300;
  plan.after = 200;
  FaultyStore flaky(store_, 7, plan);
  AsLeftConfig config;
  config.job = kLeftJob;
  config.wrote = config.unkept = true;
  config.nonce = "n";
  config.pause = [this](Duration wait) { clock_.now = clock_.now + wait; };
  const auto kept = KeepAsLeft(config, flaky, clock_, files_, clock_.now + Duration::Minutes(30));
  ASSERT_TRUE(kept.ok()) << kept.status().ToString();
  EXPECT_EQ(Kept(), "as-left-1");
}

}  // namespace
}  // namespace stoker::test
