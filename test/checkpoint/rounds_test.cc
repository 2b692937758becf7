// SPDX-License-Identifier: Apache-2.0
// Several nodes with a keeper each, one store between them.
#include "checkpoint/rounds.h"

#include <gtest/gtest.h>

#include "base/prng.h"
#include "test/checkpoint/gang.h"
#include "test/kit/rounds.h"

namespace stoker::test {
namespace {

TEST(Rounds, OnlyRankZeroWrites) {
  Gang gang(3);
  for (int step = 1; step <= 3; ++step) {
    gang.files[0]->Write("checkpoint.pt", Shard(0, step));
    gang.Run(Duration::Seconds(step == 1 ? 25 : 5));
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
    gang.Run(Duration::Seconds(step == 1 ? 25 : 6));
    const auto files = gang.Restored(1);
    const std::string unit = "step-" + std::to_string(step);
    ASSERT_EQ(files.count(unit + "/shard-0"), 1u) << step;
    ASSERT_EQ(files.count(unit + "/shard-1"), 1u) << step;
  }
}

TEST(Rounds, OnlyAnotherNodeWrites) {
  Gang gang(2);
  gang.files[1]->Write("checkpoint.pt", Shard(1, 1));
  gang.Run(Duration::Seconds(25));
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
    gang.Run(Duration::Seconds(50));
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
    gang.Save(step);
    gang.Run(Duration::Seconds(50));
  }
  gang.files[0]->Write("shard-0", Shard(0, 4));
  gang.Run(Duration::Seconds(15));
  EXPECT_EQ(gang.Restored(0)["shard-0"], Shard(0, 3));
  gang.files[1]->Write("shard-1", Shard(1, 4));
  gang.Run(Duration::Seconds(50));
  EXPECT_EQ(gang.Restored(0)["shard-0"], Shard(0, 4));
  EXPECT_EQ(gang.Restored(0)["shard-1"], Shard(1, 4));
}

// The others look for one round after the other.
TEST(Rounds, AnUploadThatCameToNothingTakesNoNumber) {
  for (const bool no_room : {false, true}) {
    Gang gang(2);
    gang.store.fails = no_room ? 0 : 2;
    gang.files[0]->no_room = no_room;
    for (int step = 1; step <= 3; ++step) {
      gang.slow_leader = no_room && step == 1;  // the files change before they are sent
      gang.Save(step);
      gang.Run(Duration::Seconds(50));
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
      gang.Save(1);
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
    gang.Save(step);
    gang.Run(Duration::Seconds(50));
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
