// SPDX-License-Identifier: Apache-2.0
// Machines that a person or their platform has ended, where the platform tells who it was.
#include "test/kit/story.h"

namespace stoker::story {
namespace {

TEST(EndedBy, WhatItsOwnerEndsIsNotAskedForAgain) {
  Story s;
  s.Pass().See(AllRun()).Settle().Expect("Running; 1 Running L1; sent L1");
  s.See(IsEndedBy(1, EndedBy::kOwner), Quiet(1, 5, 5)).Settle();
  s.Expect("Cancelled (Cancelled); 1 Ended L1 (Cancelled); L1 lost; ended m1");
  ASSERT_TRUE(s.job.cancel);
  EXPECT_EQ(s.job.cancel->by, "who ended m1 at local");
}

TEST(EndedBy, WhileItStopsItsNodeMayCommit) {
  Story s;
  s.Pass().See(AllRun()).Settle();
  s.See([](Story& t) { t.Machine(1).ended_by = EndedBy::kOwner; }, Quiet(1, 5, 5)).Settle();
  s.Expect("Stopping; 1 Running L1 (Cancelled); sent L1");
  s.See(IsEndedBy(1, EndedBy::kOwner)).Settle();
  s.Expect("Cancelled (Cancelled); 1 Ended L1 (Cancelled); L1 lost; ended m1");
}

TEST(EndedBy, AlsoBeforeItHasBegunAnything) {
  Story s;
  s.Pass().See(Queues(1)).Pass().See(After(60), IsEndedBy(1, EndedBy::kOwner)).Settle();
  s.Expect("Cancelled (Cancelled); 1 Ended L1 (Cancelled); L1 lost; sent L1; ended m1");
}

TEST(EndedBy, OneOfAGangEndsAll) {
  Story s(2);
  s.Pass().See(AllRun()).Settle().Expect("Running; 1 Running L1,L2; sent L1 L2");
  s.See(IsEndedBy(2, EndedBy::kOwner), Quiet(2, 5, 5)).Pass();
  s.See(Told(1, 0)).Settle();
  s.Expect("Cancelled (Cancelled); 1 Ended L1,L2 (Cancelled); L1 done; L2 lost; ended m2");
}

// The program has ended well and its node has said so: nobody wanted it undone.
TEST(EndedBy, WhatHasDoneItsPartIsDone) {
  Story s;
  s.Pass().See(AllRun()).Settle();
  s.See(End(1, 0, EndReason::kCompleted), IsEndedBy(1, EndedBy::kOwner)).Settle();
  EXPECT_FALSE(s.job.cancel);
  EXPECT_EQ(s.job.state, JobState::kSucceeded);
}

// A machine that was given up before: its owner only clears away.
TEST(EndedBy, WhatNobodyWaitsForSaysNothing) {
  Story s;
  s.Pass().See(AllRun()).Settle();
  s.See(Quiet(1, 100, 100)).Pass().Pass();
  s.See(IsEndedBy(1, EndedBy::kOwner)).Settle();
  EXPECT_FALSE(s.job.cancel);
  EXPECT_EQ(s.job.attempts.size(), 2U);
}

// Preempted, or at its time limit, without a notice that its node could have told of.
TEST(EndedBy, WhatItsPlatformTakesIsInterrupted) {
  Story s;
  s.Pass().See(AllRun()).Settle().Expect("Running; 1 Running L1; sent L1");
  s.See(IsEndedBy(1, EndedBy::kPlatform), Quiet(1, 5, 5)).Settle();
  s.Expect("Running; 1 Ended L1 (Interrupted); 2 Staging L2; L1 interrupted; sent L2; ended m1");
}

}  // namespace
}  // namespace stoker::story
