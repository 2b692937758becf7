// SPDX-License-Identifier: Apache-2.0
// Several nodes that save, and nothing in the names tells which of their saves belong together:
// what rests on all of them at once does.
#include <gtest/gtest.h>

#include "test/checkpoint/gang.h"

namespace stoker::test {
namespace {

// One node saves alone at first, and later twice as often.
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
TEST(RoundsRest, CountsOnlyOfWhatLiesThereNow) {
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
TEST(RoundsRest, CountsOnlyIfRankZeroStillRestsWhenTheAnswersHaveCome) {
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
TEST(RoundsRest, CountsOnlyByALookThatIsMadeWhenTheRoundIsThere) {
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

// The same of rank 0, and of the answer that it asked for.
TEST(RoundsRest, CountsOnlyByALookThatIsMadeWhenTheAnswersAreThere) {
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

// Seed 93397: one node's program failed before it wrote what the others had written.
TEST(RoundsRest, CountsForNoProgramsThatFailed) {
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

// Whatever is committed while it runs, not just what is there at the end.
void RunUnmixed(Gang& gang, Duration time) {
  for (Duration run; run < time; run = run + Duration::Seconds(6)) {
    gang.Run(std::min(time - run, Duration::Seconds(6)));
    ExpectNeverMixed(gang);
  }
}

// Two saves are not answered for when its program ends; the older does not take the newer's place.
TEST(RoundsRest, ALastWordIsGivenOnce) {
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
  const auto part = DecodePart(last->data);
  ASSERT_TRUE(part.ok() && !part->files.empty());
  EXPECT_EQ(part->files.front().object.substr(0, 8), "data/1-1") << part->files.front().object;
}

TEST(RoundsRest, ThatNothingTellsThemApartIsSaid) {
  Gang gang(2);
  for (int number = 1; number <= 12; ++number) {
    gang.Save(number);
    gang.Run(Duration::Ms(100));
    gang.files[1]->Write("shard-1", Shard(1, number));
    gang.Run(Duration::Seconds(15));
  }
  ASSERT_EQ(gang.said.size(), 1u) << Join(gang.said, "\n");
  EXPECT_NE(gang.said[0].find("no number in the names tells"), std::string::npos) << gang.said[0];
  gang.Run(Duration::Minutes(1));
  EXPECT_EQ(gang.Restored(0)["shard-1"], Shard(1, 12));
  EXPECT_EQ(gang.keepers[0]->trouble(), "");
}

// ---- what must not be taken for another count ----

// A last word is uploaded in part; then what is older is asked for, given and committed. What had
// been uploaded is cleared away with that, and is sent again.
TEST(RoundsRest, WhatAFailedUploadHasLeftIsNotGivenOnceItMayBeGone) {
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
TEST(RoundsRest, ALastWordIsNotClearedAway) {
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
