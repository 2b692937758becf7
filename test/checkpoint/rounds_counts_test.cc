// SPDX-License-Identifier: Apache-2.0
// Several nodes, whose names have no number, that do not save equally often.
#include <gtest/gtest.h>

#include "test/checkpoint/gang.h"

namespace stoker::test {
namespace {

// Two nodes whose counts of writes have nothing to do with one another: each save of one is two.
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
    Save(number);
    Run(Duration::Ms(100));
    files[1]->Write("shard-1", Shard(1, number));
    Run(Duration::Ms(5900));
  }
};

// Seed 32551 of the simulator: rank 0 was still uploading an older moment than the others had.
TEST(RoundsCounts, CountsAreGivenUpOnlyForWhatLiesThereNow) {
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
TEST(RoundsCounts, CountsAreGivenUpOnlyIfRankZeroStillRestsWhenTheAnswersHaveCome) {
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
TEST(RoundsCounts, CountsAreGivenUpOnlyForWhatALookShowsThatIsMadeWhenTheRoundIsThere) {
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
TEST(RoundsCounts, WhatIsCommittedIsNotAnswerForTheSameCountOfLater) {
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
TEST(RoundsCounts, CountsAreGivenUpOnlyForWhatALookShowsThatIsMadeWhenTheAnswersAreThere) {
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
TEST(RoundsCounts, OnceCountsAreKnownToDifferAnEqualOneIsByChance) {
  Gang gang(2);
  for (int more = 0; more < 2; ++more) {
    gang.files[1]->Write("shard-1", Shard(1, 0));
    gang.Run(Duration::Seconds(3));
  }
  for (int number = 1; number <= 12; ++number) {
    gang.Save(number);
    gang.Run(Duration::Seconds(27));
    ExpectNeverMixed(gang);
  }
  gang.Run(Duration::Minutes(1));
  EXPECT_EQ(gang.Restored(0)["shard-0"], Shard(0, 12));
  EXPECT_EQ(gang.Restored(0)["shard-1"], Shard(1, 12));
}

// Its first two writes were no moments of their own: the first round of its own is of the third.
TEST(RoundsCounts, WhatWasGivenForAWishIsNotAnswerForTheSameCountOfRankZero) {
  Gang gang(2);
  for (int more = 0; more < 3; ++more) {
    gang.files[1]->Write("shard-1", Shard(1, 0));
    gang.Run(Duration::Seconds(3));
  }
  for (int number = 1; number <= 3; ++number) {
    gang.Save(number);
    gang.Run(Duration::Seconds(1));
  }
  gang.Run(Duration::Minutes(1));
  EXPECT_EQ(gang.Restored(0)["shard-0"], Shard(0, 3));
  EXPECT_EQ(gang.Restored(0)["shard-1"], Shard(1, 3));
  ExpectNeverMixed(gang);
}

// Seed 93397: one node's program failed before it wrote what the others had written.
TEST(RoundsCounts, CountsAreNotGivenUpForProgramsThatFailed) {
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

// ---- equal counts of different saves ----

// Whatever is committed while it runs, not just what is there at the end.
void RunUnmixed(Gang& gang, Duration time) {
  for (Duration run; run < time; run = run + Duration::Seconds(6)) {
    gang.Run(std::min(time - run, Duration::Seconds(6)));
    ExpectNeverMixed(gang);
  }
}

// `who` saves a few times alone, seconds before all do.
TEST(RoundsCounts, AFewSavesMoreOfOneNode) {
  for (const size_t who : {0U, 1U}) {
    for (const int more : {1, 3}) {
      for (const int pause : {6, 60}) {
        SCOPED_TRACE(testing::Message() << who << ": " << more << " more, each " << pause << " s");
        Gang gang(2);
        for (int i = 0; i < more; ++i) {
          gang.files[who]->Write(who == 0 ? "shard-0" : "shard-1", Shard(static_cast<int>(who), 0));
          gang.Run(Duration::Seconds(3));
        }
        for (int number = 1; number <= 10; ++number) {
          gang.Save(number);
          RunUnmixed(gang, Duration::Seconds(pause));
          if (number > 5) {
            EXPECT_EQ(gang.Restored(0)["shard-1"], Shard(1, number));
          }
        }
        RunUnmixed(gang, Duration::Minutes(2));
        EXPECT_EQ(gang.Restored(0)["shard-0"], Shard(0, 10));
        EXPECT_EQ(gang.Restored(0)["shard-1"], Shard(1, 10));
      }
    }
  }
}

// A pointer that `who` writes twice for each save.
TEST(RoundsCounts, AFileThatIsWrittenTwiceForEachSave) {
  for (const size_t who : {0U, 1U}) {
    for (const int pause : {6, 60}) {
      SCOPED_TRACE(testing::Message() << who << ", each " << pause << " s");
      Gang gang(2);
      for (int number = 1; number <= 8; ++number) {
        gang.Save(number);
        for (int twice = 0; twice < 2; ++twice) {
          gang.files[who]->Write("latest", "x" + std::to_string(number));
          gang.Run(Duration::Ms(100));
        }
        RunUnmixed(gang, Duration::Seconds(pause));
        if (pause > 6 && number > 3) {
          EXPECT_EQ(gang.Restored(0)["shard-1"], Shard(1, number));
        }
      }
      RunUnmixed(gang, Duration::Minutes(2));
      EXPECT_EQ(gang.Restored(0)["shard-0"], Shard(0, 8));
    }
  }
}

// It saved once alone, which was kept, and then both did, the other for the first time.
TEST(RoundsCounts, TheFirstOfOneIsNoAnswerForALaterFirstOfTheOther) {
  Gang gang(2);
  gang.files[1]->Write("shard-1", Shard(1, 0));
  gang.Run(Duration::Seconds(4));
  gang.Save(1);
  RunUnmixed(gang, Duration::Minutes(2));
  EXPECT_EQ(gang.Restored(0)["shard-0"], Shard(0, 1));
}

// What it has for good is of its fourth step; rank 0 comes to as many saves five steps later.
TEST(RoundsCounts, ALastWordIsNoAnswerForALaterSaveOfTheSameCount) {
  Uneven gang;
  gang.files[1]->alive = false;
  TaskExit exit;
  exit.exit_code = 0;
  gang.keepers[1]->ProgramEnded(exit, false);
  for (int number = 5; number <= 12; ++number) {
    gang.files[0]->Write("shard-0", Shard(0, number));
    RunUnmixed(gang, Duration::Seconds(6));
  }
}

// Two saves are not answered for when its program ends; the older does not take the newer's place.
TEST(RoundsCounts, ALastWordIsGivenOnce) {
  Gang gang(2);
  for (int number = 1; number <= 3; ++number) {
    gang.files[1]->Write("shard-1", Shard(1, number));
    gang.Run(Duration::Seconds(5));
    if (number == 1) gang.frozen_leader = true;
  }
  gang.files[1]->alive = false;
  gang.keepers[1]->ProgramEnded(TaskExit{}, false);
  gang.Run(Duration::Seconds(10));
  const auto last = gang.store.Get(FinalPartKey("job", 1, 1));
  ASSERT_TRUE(last.ok());
  EXPECT_EQ(DecodePart(last->data)->cycle, 3);
}

// Shards of a model of one node, one file of the other: the first save is one of both.
TEST(RoundsCounts, FilesOfARowThatAreWrittenTogetherAreOneSave) {
  for (const int pause : {6, 60}) {
    Gang gang(2);
    for (int number = 1; number <= 5; ++number) {
      for (const char* i : {"1", "2", "3"}) {
        gang.files[0]->Write("model-" + std::string(i) + "-of-3.pt", Shard(0, number));
        gang.Run(Duration::Ms(100));
      }
      gang.files[1]->Write("rank1.pt", Shard(1, number));
      gang.Run(Duration::Seconds(pause));
      EXPECT_EQ(gang.keepers[0]->newest(), "1-" + std::to_string(number));
      EXPECT_EQ(gang.Restored(0)["model-3-of-3.pt"], Shard(0, number));
      EXPECT_EQ(gang.Restored(0)["rank1.pt"], Shard(1, number));
    }
  }
}

// Rank 0 writes nothing, and the numbers of the other's names are seen to be of shards later.
TEST(RoundsCounts, AWishOfALowerCountIsAWish) {
  Gang gang(2);
  for (int number = 1; number <= 3; ++number) {
    for (const char* i : {"1", "2", "3", "4"}) {
      gang.files[1]->Write("model-" + std::string(i) + ".pt", Shard(1, number));
      gang.Run(Duration::Ms(number == 1 ? 2500 : 100));
    }
    gang.Run(Duration::Seconds(30));
    EXPECT_EQ(gang.Restored(0)["model-4.pt"], Shard(1, number));
  }
}

TEST(RoundsCounts, ThatCountsDifferIsSaid) {
  Gang gang(2);
  for (int number = 1; number <= 12; ++number) {
    gang.Save(number);
    gang.Run(Duration::Ms(100));
    gang.files[1]->Write("shard-1", Shard(1, number));
    gang.Run(Duration::Seconds(15));
  }
  EXPECT_NE(gang.keepers[0]->trouble().find("not equally often"), std::string::npos)
      << gang.keepers[0]->trouble();
  gang.Run(Duration::Minutes(1));
  EXPECT_EQ(gang.Restored(0)["shard-1"], Shard(1, 12));
  EXPECT_EQ(gang.keepers[0]->trouble(), "");
}

// ---- what must not be taken for another count ----

// One writes long after the other, and both are right.
TEST(RoundsCounts, WhoLagsIsBelieved) {
  Gang gang(2);
  for (int number = 1; number <= 6; ++number) {
    gang.files[0]->Write("shard-0", Shard(0, number));
    gang.Run(Duration::Seconds(50));
    gang.files[1]->Write("shard-1", Shard(1, number));
    RunUnmixed(gang, Duration::Seconds(10));
    if (number > 1) {
      EXPECT_EQ(gang.Restored(0)["shard-1"], Shard(1, number));
    }
  }
}

// One saved alone before, and lags by more than what is rest enough to do without counts.
TEST(RoundsCounts, WhoLagsAndCountsMoreIsNotMixed) {
  for (const int more : {1, 2, 3}) {
    Gang gang(2);
    for (int i = 0; i < more; ++i) {
      gang.files[1]->Write("shard-1", Shard(1, 0));
      gang.Run(Duration::Seconds(3));
    }
    for (int number = 1; number <= 6; ++number) {
      gang.files[0]->Write("shard-0", Shard(0, number));
      gang.Run(Duration::Seconds(25));
      gang.files[1]->Write("shard-1", Shard(1, number));
      RunUnmixed(gang, Duration::Seconds(275));
    }
    EXPECT_EQ(gang.Restored(0)["shard-1"], Shard(1, 6));
  }
}

// The numbers of one count steps, the other writes one file over and over.
TEST(RoundsCounts, StepsAtAFastPaceAreNoShards) {
  Gang gang(2);
  for (int number = 1; number <= 20; ++number) {
    gang.files[0]->Write("step-" + std::to_string(number) + ".pt", Shard(0, number));
    gang.files[1]->Write("shard-1", Shard(1, number));
    gang.Run(Duration::Ms(1500));
  }
  EXPECT_GE(gang.keepers[0]->commits(), 10);
}

// A last word is uploaded in part; then what is older is asked for, given and committed. What had
// been uploaded is cleared away with that, and is sent again.
TEST(RoundsCounts, WhatAFailedUploadHasLeftIsNotGivenOnceItMayBeGone) {
  Gang gang(2);
  const auto more = [](int number) { return "more of " + std::to_string(number); };
  for (int number = 1; number <= 6; ++number) {
    gang.slow_leader = number > 4;
    gang.files[1]->Write("more-1", more(number));
    gang.Save(number);
    gang.Run(Duration::Seconds(6));
  }
  gang.store.failing = "1-1-";
  gang.store.passes = gang.store.fails = 1;
  for (size_t rank = 0; rank < 2; ++rank) {
    gang.files[rank]->alive = false;
    gang.keepers[rank]->ProgramEnded(TaskExit{}, false);
  }
  gang.Run(Duration::Ms(200));
  EXPECT_EQ(gang.store.fails, 0);
  gang.slow_leader = false;
  RunUnmixed(gang, Duration::Minutes(1));
  EXPECT_EQ(gang.Restored(0)["shard-1"], Shard(1, 6));
  EXPECT_EQ(gang.Restored(0)["more-1"], more(6));
}

// Rank 0's uploads are slow when the programs end. What the last word of the other names stays
// until rank 0 has come to it.
TEST(RoundsCounts, ALastWordIsNotClearedAway) {
  Gang gang(2);
  for (int number = 1; number <= 6; ++number) {
    gang.slow_leader = number > 4;
    gang.Save(number);
    gang.Run(Duration::Seconds(6));
  }
  for (size_t rank = 0; rank < 2; ++rank) {
    gang.files[rank]->alive = false;
    gang.keepers[rank]->ProgramEnded(TaskExit{}, false);
  }
  gang.Run(Duration::Seconds(2));
  gang.slow_leader = false;
  RunUnmixed(gang, Duration::Minutes(1));
  EXPECT_EQ(gang.Restored(0)["shard-1"], Shard(1, 6));
}

}  // namespace
}  // namespace stoker::test
