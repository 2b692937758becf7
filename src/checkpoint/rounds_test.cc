// SPDX-License-Identifier: Apache-2.0
// Several nodes with a keeper each, one store between them.
#include "checkpoint/rounds.h"

#include <functional>
#include <utility>

#include <gtest/gtest.h>

#include "base/prng.h"
#include "base/test_rounds.h"
#include "checkpoint/checkpoint_store.h"
#include "checkpoint/keeper.h"
#include "store/memory_store.h"
#include "test/checkpoint/fake_files.h"

namespace stoker::test {
namespace {

// An answer of it may take long: `before` is what happens meanwhile.
class SlowStore : public MemoryStore {
 public:
  Result<Object> Get(const std::string& key) override {
    if (before && StartsWith(key, slow)) std::exchange(before, nullptr)();
    return MemoryStore::Get(key);
  }
  Result<ObjectInfo> PutFrom(const std::string& key, ObjectReader& from,
                             const Condition& condition = {}) override {
    if (fails > 0 && StartsWith(key, "jobs/job/checkpoints/data/1-0-")) {
      --fails;
      return Status(Code::kUnavailable, "no answer");
    }
    return MemoryStore::PutFrom(key, from, condition);
  }
  int fails = 0;     // so many of rank 0's next uploads
  std::string slow;  // prefix of the keys of which the next one takes long
  std::function<void()> before;
};

class Gang {
 public:
  explicit Gang(int nodes) {
    for (int rank = 0; rank < nodes; ++rank) {
      files.push_back(std::make_unique<FakeFiles>(clock));
      KeeperConfig config;
      config.job = "job";
      config.rank = rank;
      config.num_nodes = nodes;
      config.nonce_seed = static_cast<uint64_t>(rank) + 1;
      keepers.push_back(std::make_unique<CheckpointKeeper>(config, store, clock, *files.back()));
      EXPECT_TRUE(keepers.back()->Begin().ok());
    }
  }
  void Run(Duration time) {
    const MonoTime end = clock.now + time;
    while (clock.now < end) {
      clock.now = clock.now + Duration::Ms(20);
      for (auto& keeper : keepers) {
        if (frozen_follower && keeper != keepers.front()) continue;
        if (frozen_leader && keeper == keepers.front()) continue;
        keeper->Step();
        if (slow_leader && keeper == keepers.front()) continue;
        while (keeper->RunUpload()) keeper->Step();
      }
    }
  }
  void End(int code) {
    for (size_t i = 0; i < keepers.size(); ++i) {
      files[i]->alive = false;
      TaskExit exit;
      exit.exit_code = code;
      keepers[i]->ProgramEnded(exit, false);
    }
    Run(Duration::Seconds(15));
  }
  std::map<std::string, std::string> Restored(int rank) {
    auto newest = NewestCheckpoint(store, "job", {});
    EXPECT_TRUE(newest.ok());
    FakeDirectory directory;
    if (newest.ok() && newest->has_value()) {
      EXPECT_TRUE(RestoreCheckpoint(store, "job", (*newest)->id, rank, directory).ok());
    }
    return directory.files;
  }

  bool slow_leader = false;      // what rank 0 uploads does not arrive
  bool frozen_follower = false;  // the others see and do nothing
  bool frozen_leader = false;    // rank 0 does
  HandClock clock;
  SlowStore store;
  std::vector<std::unique_ptr<FakeFiles>> files;
  std::vector<std::unique_ptr<CheckpointKeeper>> keepers;
};

std::string Shard(int rank, int step) {
  return "shard " + std::to_string(rank) + " of step " + Padded(step, 4);
}

TEST(Rounds, OnlyRankZeroWrites) {
  Gang gang(3);
  for (int step = 1; step <= 3; ++step) {
    gang.files[0]->Write("checkpoint.pt", Shard(0, step));
    gang.Run(Duration::Seconds(5));
    for (int rank = 0; rank < 3; ++rank) {
      EXPECT_EQ(gang.Restored(rank)["checkpoint.pt"], Shard(0, step));
      EXPECT_EQ(gang.keepers[static_cast<size_t>(rank)]->newest(), "1-" + std::to_string(step));
    }
  }
}

TEST(Rounds, EveryNodeWritesItsShard) {
  Gang gang(2);
  for (int step = 1; step <= 4; ++step) {
    gang.files[0]->Write("step-" + std::to_string(step) + "/shard-0", Shard(0, step));
    gang.Run(Duration::Ms(700));
    gang.files[1]->Write("step-" + std::to_string(step) + "/shard-1", Shard(1, step));
    gang.Run(Duration::Seconds(6));
    const auto files = gang.Restored(1);
    const std::string unit = "step-" + std::to_string(step);
    ASSERT_EQ(files.count(unit + "/shard-0"), 1u) << step;
    ASSERT_EQ(files.count(unit + "/shard-1"), 1u) << step;
  }
}

TEST(Rounds, OnlyAnotherNodeWrites) {
  Gang gang(2);
  gang.files[1]->Write("checkpoint.pt", Shard(1, 1));
  gang.Run(Duration::Seconds(6));
  EXPECT_EQ(gang.Restored(0)["checkpoint.pt"], Shard(1, 1));
  gang.files[1]->Write("checkpoint.pt", Shard(1, 2));
  gang.Run(Duration::Ms(200));
  gang.End(0);
  EXPECT_EQ(gang.Restored(1)["checkpoint.pt"], Shard(1, 2));
  for (auto& keeper : gang.keepers) EXPECT_TRUE(keeper->Finished());
}

TEST(Rounds, WhoWritesItsFirstIsWaitedFor) {
  for (const size_t slow : {0U, 1U}) {
    Gang gang(2);
    const auto write = [&](size_t rank, bool begin) {
      const std::string path = "shard-" + std::to_string(rank);
      begin ? gang.files[rank]->Open(path)
            : gang.files[rank]->Close(path, Shard(static_cast<int>(rank), 1));
    };
    write(0, true);
    write(1, true);
    write(1 - slow, false);
    gang.Run(Duration::Seconds(15));
    EXPECT_EQ(gang.Restored(0).size(), 0U) << slow;
    write(slow, false);
    gang.Run(Duration::Seconds(5));
    EXPECT_EQ(gang.Restored(0).size(), 2U) << slow;
  }
}

// Such a file will never be part of a moment.
TEST(Rounds, WhatIsOpenAllTheTimeKeepsNobodyBack) {
  for (const size_t opens : {0U, 1U}) {
    Gang gang(2);
    const auto keep_writing = [&](int seconds) {
      for (int second = 0; second < seconds; ++second) {
        gang.files[opens]->Open("data.sqlite", std::to_string(second));
        gang.Run(Duration::Seconds(1));
      }
    };
    keep_writing(5);
    gang.files[1 - opens]->Write("checkpoint.pt", Shard(0, 1));
    keep_writing(90);
    EXPECT_EQ(gang.Restored(0)["checkpoint.pt"], Shard(0, 1)) << opens;
    gang.files[1 - opens]->Write("checkpoint.pt", Shard(0, 2));
    keep_writing(10);
    EXPECT_EQ(gang.Restored(0)["checkpoint.pt"], Shard(0, 2)) << opens;
  }
}

TEST(Rounds, ANodeThatIsBehindIsWaitedForAndNeverMixed) {
  Gang gang(2);
  for (int step = 1; step <= 3; ++step) {
    gang.files[0]->Write("shard-0", Shard(0, step));
    gang.files[1]->Write("shard-1", Shard(1, step));
    gang.Run(Duration::Seconds(5));
  }
  gang.files[0]->Write("shard-0", Shard(0, 4));
  gang.Run(Duration::Seconds(20));
  EXPECT_EQ(gang.Restored(0)["shard-0"], Shard(0, 3));
  gang.files[1]->Write("shard-1", Shard(1, 4));
  gang.Run(Duration::Seconds(5));
  EXPECT_EQ(gang.Restored(0)["shard-0"], Shard(0, 4));
  EXPECT_EQ(gang.Restored(0)["shard-1"], Shard(1, 4));
}

void ExpectNeverMixed(Gang& gang) {
  auto all = ListCheckpoints(gang.store, "job");
  ASSERT_TRUE(all.ok());
  for (const CheckpointInfo& info : *all) {
    FakeDirectory directory;
    ASSERT_TRUE(RestoreCheckpoint(gang.store, "job", info.id, 0, directory).ok()) << info.id;
    if (directory.files.count("shard-0") == 0) continue;  // of before rank 0 wrote anything
    EXPECT_EQ(directory.files["shard-0"].substr(7), directory.files["shard-1"].substr(7))
        << info.id;
  }
}

// Two nodes whose counts of writes have nothing to do with one another.
class Uneven : public Gang {
 public:
  Uneven() : Gang(2) {
    for (int more = 0; more < 6; ++more) {
      files[1]->Write("shard-1", Shard(1, 0));
      Run(Duration::Seconds(3));
    }
    for (int number = 1; number <= 4; ++number) Step(number);
  }
  void Step(int number) {
    files[0]->Write("shard-0", Shard(0, number));
    files[1]->Write("shard-1", Shard(1, number));
    Run(Duration::Seconds(6));
  }
};

// Seed 32551 of the simulator: rank 0 was still uploading an older moment than the others had.
TEST(Rounds, CountsAreGivenUpOnlyForWhatLiesThereNow) {
  Uneven gang;
  gang.slow_leader = true;
  gang.Step(5);
  gang.Step(6);
  gang.Run(Duration::Minutes(1));
  gang.slow_leader = false;
  gang.Run(Duration::Minutes(2));
  EXPECT_EQ(gang.Restored(0)["shard-0"], Shard(0, 6));
  EXPECT_EQ(gang.Restored(0)["shard-1"], Shard(1, 6));
  ExpectNeverMixed(gang);
}

// Seed 14000064310: the others look seldom, and found the round when they had saved once more.
TEST(Rounds, CountsAreGivenUpOnlyIfRankZeroStillRestsWhenTheAnswersHaveCome) {
  Uneven gang;
  gang.Step(5);
  gang.Run(Duration::Ms(13'500));
  gang.frozen_follower = true;
  gang.Run(Duration::Seconds(3));
  gang.Step(6);
  gang.Run(Duration::Seconds(24));
  gang.frozen_follower = false;
  gang.Run(Duration::Minutes(1));
  EXPECT_EQ(gang.Restored(0)["shard-0"], Shard(0, 6));
  EXPECT_EQ(gang.Restored(0)["shard-1"], Shard(1, 6));
  ExpectNeverMixed(gang);
}

// Seed 22090041849: what rank 1 asked the store for came half a minute later.
TEST(Rounds, CountsAreGivenUpOnlyForWhatALookShowsThatIsMadeWhenTheRoundIsThere) {
  Uneven gang;
  gang.Run(Duration::Seconds(13));
  bool slow = false;
  gang.store.slow = "jobs/job/checkpoints/rounds/";
  gang.store.before = [&] {
    slow = true;
    gang.frozen_follower = gang.slow_leader = true;
    gang.Step(5);
    gang.Run(Duration::Seconds(18));
    gang.slow_leader = false;
    gang.Run(Duration::Seconds(1));
    gang.frozen_follower = false;
  };
  gang.Run(Duration::Minutes(2));
  EXPECT_TRUE(slow);
  EXPECT_EQ(gang.Restored(0)["shard-0"], Shard(0, 5));
  EXPECT_EQ(gang.Restored(0)["shard-1"], Shard(1, 5));
  ExpectNeverMixed(gang);
}

// Rank 0's sixth write is none of what the other had after its sixth, long ago.
TEST(Rounds, WhatIsCommittedIsNotAnswerForTheSameCountOfLater) {
  Uneven gang;
  for (int number = 5; number <= 7; ++number) {
    gang.Step(number);
    ExpectNeverMixed(gang);
  }
  gang.Run(Duration::Minutes(1));
  EXPECT_EQ(gang.Restored(0)["shard-0"], Shard(0, 7));
  EXPECT_EQ(gang.Restored(0)["shard-1"], Shard(1, 7));
  ExpectNeverMixed(gang);
}

// The same of rank 0, and of the answer that it asked for.
TEST(Rounds, CountsAreGivenUpOnlyForWhatALookShowsThatIsMadeWhenTheAnswersAreThere) {
  Uneven gang;
  gang.Run(Duration::Seconds(13));
  gang.frozen_follower = true;
  gang.Run(Duration::Seconds(4));
  bool slow = false;
  gang.store.slow = "jobs/job/checkpoints/parts/";
  gang.store.before = [&] {
    slow = gang.frozen_leader = true;
    gang.Step(5);
    gang.Run(Duration::Seconds(24));
    gang.frozen_follower = false;
    gang.Run(Duration::Seconds(1));
    gang.frozen_leader = false;
  };
  gang.Run(Duration::Minutes(2));
  EXPECT_TRUE(slow);
  EXPECT_EQ(gang.Restored(0)["shard-0"], Shard(0, 5));
  EXPECT_EQ(gang.Restored(0)["shard-1"], Shard(1, 5));
  ExpectNeverMixed(gang);
}

// Two writes of the other's before the first of rank 0: its twelfth is rank 0's tenth.
TEST(Rounds, OnceCountsAreKnownToDifferAnEqualOneIsByChance) {
  Gang gang(2);
  for (int more = 0; more < 2; ++more) {
    gang.files[1]->Write("shard-1", Shard(1, 0));
    gang.Run(Duration::Seconds(3));
  }
  for (int number = 1; number <= 12; ++number) {
    gang.files[0]->Write("shard-0", Shard(0, number));
    gang.files[1]->Write("shard-1", Shard(1, number));
    gang.Run(Duration::Seconds(27));
    ExpectNeverMixed(gang);
  }
  gang.Run(Duration::Minutes(1));
  EXPECT_EQ(gang.Restored(0)["shard-0"], Shard(0, 12));
  EXPECT_EQ(gang.Restored(0)["shard-1"], Shard(1, 12));
}

// Its first two writes were no moments of their own: the first round of its own is of the third.
TEST(Rounds, WhatWasGivenForAWishIsNotAnswerForTheSameCountOfRankZero) {
  Gang gang(2);
  for (int more = 0; more < 3; ++more) {
    gang.files[1]->Write("shard-1", Shard(1, 0));
    gang.Run(Duration::Seconds(3));
  }
  for (int number = 1; number <= 3; ++number) {
    gang.files[0]->Write("shard-0", Shard(0, number));
    gang.files[1]->Write("shard-1", Shard(1, number));
    gang.Run(Duration::Seconds(1));
  }
  gang.Run(Duration::Minutes(1));
  EXPECT_EQ(gang.Restored(0)["shard-0"], Shard(0, 3));
  EXPECT_EQ(gang.Restored(0)["shard-1"], Shard(1, 3));
  ExpectNeverMixed(gang);
}

// The others look for one round after the other.
TEST(Rounds, AnUploadThatCameToNothingTakesNoNumber) {
  for (const bool no_room : {false, true}) {
    Gang gang(2);
    gang.store.fails = no_room ? 0 : 2;
    gang.files[0]->no_room = no_room;
    for (int step = 1; step <= 3; ++step) {
      gang.slow_leader = no_room && step == 1;  // the files change before they are sent
      gang.files[0]->Write("shard-0", Shard(0, step));
      gang.files[1]->Write("shard-1", Shard(1, step));
      gang.Run(Duration::Seconds(10));
    }
    EXPECT_EQ(gang.Restored(0)["shard-0"], Shard(0, 3)) << gang.keepers[0]->trouble();
    EXPECT_EQ(gang.Restored(0)["shard-1"], Shard(1, 3));
    ExpectNeverMixed(gang);
  }
}

TEST(Rounds, WhoHasWrittenWhileTheStoreWasSlowHasAPart) {
  for (const bool leader : {false, true}) {
    Gang gang(2);
    gang.Run(Duration::Seconds(1));
    gang.store.slow = "jobs/job/checkpoints/" + std::string(leader ? "wishes/" : "rounds/");
    gang.store.before = [&] {
      bool& frozen = leader ? gang.frozen_leader : gang.frozen_follower;
      frozen = true;
      gang.files[0]->Write("shard-0", Shard(0, 1));
      gang.files[1]->Write("shard-1", Shard(1, 1));
      gang.Run(Duration::Seconds(6));
      frozen = false;
    };
    gang.Run(Duration::Minutes(1));
    const auto all = ListCheckpoints(gang.store, "job");
    ASSERT_TRUE(all.ok());
    EXPECT_EQ(all->size(), 1U);
    EXPECT_EQ(gang.Restored(0)["shard-0"], Shard(0, 1));
    EXPECT_EQ(gang.Restored(0)["shard-1"], Shard(1, 1));
  }
}

// Seed 93397: one node's program failed before it wrote what the others had written.
TEST(Rounds, CountsAreNotGivenUpForProgramsThatFailed) {
  for (const int code : {3, 0}) {
    Uneven gang;
    gang.files[code == 0 ? 0 : 1]->Write(code == 0 ? "shard-0" : "shard-1",
                                         Shard(code == 0 ? 0 : 1, 5));
    if (code == 0) gang.files[1]->Write("shard-1", Shard(1, 5));
    gang.End(code);
    gang.Run(Duration::Minutes(1));
    ExpectNeverMixed(gang);
  }
}

TEST(Rounds, TheLastCheckpointOfAllNodesIsCommittedAtTheEnd) {
  Gang gang(3);
  for (size_t rank = 0; rank < 3; ++rank) {
    gang.files[rank]->Write("shard-" + std::to_string(rank), Shard(static_cast<int>(rank), 1));
  }
  gang.Run(Duration::Ms(200));
  gang.End(0);
  const auto files = gang.Restored(2);
  EXPECT_EQ(files.size(), 3u);
  for (auto& keeper : gang.keepers) EXPECT_TRUE(keeper->Finished()) << keeper->trouble();
}

TEST(Rounds, ACrashOnOneNodeLeavesTheLastWholeOne) {
  Gang gang(2);
  for (int step = 1; step <= 3; ++step) {
    gang.files[0]->Write("shard-0", Shard(0, step));
    gang.files[1]->Write("shard-1", Shard(1, step));
    gang.Run(Duration::Seconds(5));
  }
  gang.files[0]->Write("shard-0", Shard(0, 4));
  gang.files[1]->Open("shard-1");
  gang.Run(Duration::Ms(100));
  gang.files[1]->Kill();
  gang.End(1);
  for (int rank = 0; rank < 2; ++rank) {
    EXPECT_EQ(gang.Restored(rank)["shard-0"], Shard(0, 3));
    EXPECT_EQ(gang.Restored(rank)["shard-1"], Shard(1, 3));
  }
}

TEST(Rounds, RandomGangsNeverMix) {
  for (int seed = 0; seed < stoker::Rounds(40); ++seed) {
    Prng prng(static_cast<uint64_t>(seed));
    Gang gang(2);
    const bool numbered = prng.Chance(1, 2);
    const int64_t pause = prng.Between(200, 4000);
    int step = 0;
    const MonoTime kill = gang.clock.now + Duration::Ms(prng.Between(2000, 25'000));
    while (gang.clock.now < kill) {
      ++step;
      const std::string unit = numbered ? "step-" + std::to_string(step) + "/" : "";
      for (size_t rank = 0; rank < 2 && gang.clock.now < kill; ++rank) {
        gang.files[rank]->Open(unit + "shard-" + std::to_string(rank));
        gang.Run(Duration::Ms(prng.Between(20, 200)));
        gang.files[rank]->Close(unit + "shard-" + std::to_string(rank),
                                Shard(static_cast<int>(rank), step));
      }
      gang.Run(Duration::Ms(prng.Between(pause / 2, pause)));
    }
    for (auto& files : gang.files) files->Kill();
    gang.End(1);
    for (int rank = 0; rank < 2; ++rank) {
      std::string last;
      const auto restored = gang.Restored(rank);
      std::map<std::string, int> shards;
      for (const auto& [path, bytes] : restored) {
        EXPECT_EQ(bytes.substr(0, 5), "shard") << "seed " << seed;
        ++shards[bytes.substr(bytes.size() - 4)];
      }
      // Of each step that is there at all, both shards are.
      for (const auto& [of_step, count] : shards) {
        EXPECT_EQ(count, 2) << "seed " << seed << ", rank " << rank << ", step " << of_step;
      }
    }
  }
}

}  // namespace
}  // namespace stoker::test
