// SPDX-License-Identifier: Apache-2.0
// keep_failed: machines of a job that failed stay for a while, and then go.
#include <gtest/gtest.h>

#include "test/kit/story.h"

namespace stoker::story {
namespace {

Story Keeps(int nodes = 1) {
  Story s(nodes);
  s.spec.keep_failed = Duration::Minutes(30);
  s.Pass().See(AllRun()).Pass();
  return s;
}

Fact EndsKept() {
  return [](Story& s) {
    for (Launch& launch : s.job.launches) {
      if (IsKept(launch, s.seen.now)) launch.kept_until = s.seen.now;
    }
    ++s.job.rev;
  };
}

TEST(KeptTest, InOneWriteWithTheEndAndThenForItsTime) {
  Story s = Keeps();
  s.Expect("Running; 1 Running L1; sent L1");
  s.See(End(1, 0, EndReason::kUserError, 3)).Pass();
  s.Expect("Failed (UserError 3); 1 Ended L1 (UserError 3); L1 kept");
  EXPECT_EQ(s.job.launches[0].kept_until, s.seen.now + Duration::Minutes(30));
  const std::string still = "Failed (UserError 3); 1 Ended L1 (UserError 3)";
  s.See(After(29 * 60)).Settle().Expect(still);
  EXPECT_FALSE(s.last.retire);
  s.See(After(60)).Pass().Expect(still + "; ended m1");
  s.See(IsGone(1), Vanishes(1)).Pass().Expect(still);
  EXPECT_TRUE(s.last.retire);
}

TEST(KeptTest, WhatEndsBeforeIsNotWaitedFor) {
  Story s = Keeps();
  s.See(End(1, 0, EndReason::kUserError, 3)).Pass().See(After(60), IsGone(1)).Pass();
  s.Expect("Failed (UserError 3); 1 Ended L1 (UserError 3); L1 kept; sent L1; ended m1");
}

TEST(KeptTest, OneThatIsStoppedStaysToo) {
  Story s = Keeps();
  s.See(End(1, 0, EndReason::kUserError, 3)).Pass().See(After(120), IsStopped(1)).Pass();
  s.Expect("Failed (UserError 3); 1 Ended L1 (UserError 3); L1 kept; sent L1");
  s.See(After(1'700)).Pass().Expect("Failed (UserError 3); 1 Ended L1 (UserError 3); ended m1");
}

TEST(KeptTest, ItsOwnerEndsItSooner) {
  Story s = Keeps();
  s.See(End(1, 0, EndReason::kUserError, 3)).Pass().See(After(120), EndsKept()).Pass();
  s.Expect("Failed (UserError 3); 1 Ended L1 (UserError 3); L1 kept; sent L1; ended m1");
}

// A minute's time to upload is for who has not said its last word.
TEST(KeptTest, ItsOwnerDoesNotWaitForANodeThatHasEnded) {
  Story s = Keeps();
  s.See(End(1, 0, EndReason::kUserError, 3)).Pass().See(After(1), EndsKept()).Pass();
  s.Expect("Failed (UserError 3); 1 Ended L1 (UserError 3); L1 kept; sent L1; ended m1");
  Story uploads = Keeps();
  uploads.See(End(1, 0, EndReason::kUserError, 3)).Pass().See([](Story& story) {
    story.seen.reports[0].report.phase = NodePhase::kStopping;
  });
  uploads.See(After(1), EndsKept()).Pass();
  uploads.Expect("Failed (UserError 3); 1 Ended L1 (UserError 3); L1 kept; sent L1");
}

TEST(KeptTest, AJobThatEndsOtherwiseKeepsNothing) {
  Keeps()
      .See(End(1, 0, EndReason::kCompleted))
      .Pass()
      .Expect("Succeeded (Completed); 1 Ended L1 (Completed); L1 done; sent L1");
  Keeps()
      .See(Cancel())
      .Pass()
      .See(Told(1, 0))
      .Pass()
      .Expect("Cancelled (Cancelled); 1 Ended L1 (Cancelled); L1 done; sent L1");
  // Cancelled as it fails.
  Story both = Keeps(2);
  both.See(End(1, 0, EndReason::kUserError, 3)).Pass().See(Cancel(), Told(1, 1)).Settle();
  EXPECT_EQ(both.job.state, JobState::kFailed);
  for (const Launch& launch : both.job.launches) EXPECT_FALSE(launch.kept_until);
  Story s = Keeps();
  s.spec.keep_failed.reset();
  s.See(End(1, 0, EndReason::kUserError, 3)).Pass();
  s.Expect("Failed (UserError 3); 1 Ended L1 (UserError 3); L1 done; sent L1");
}

TEST(KeptTest, OnlyMachinesOfTheAttemptThatFailedThatAreThere) {
  Story s = Keeps(2);
  s.See(IsGone(2), End(1, 0, EndReason::kUserError, 3), End(1, 1, EndReason::kUserError, 3));
  s.See([](Story& story) { story.spec.job_recovery.max_restarts_on_errors = 0; }).Settle();
  EXPECT_EQ(s.job.state, JobState::kFailed);
  EXPECT_EQ(s.job.launches[0].close_reason, CloseReason::kKept);
  EXPECT_NE(s.job.launches[1].close_reason, CloseReason::kKept);
  EXPECT_FALSE(s.job.launches[1].kept_until);
}

TEST(KeptTest, NotWhatBootsForAnAttemptThatIsNotNeededAnyMore) {
  Story s = Keeps();
  s.See(NoticeOf(1, 0, 120)).Pass().See(Boots(2), End(1, 0, EndReason::kUserError, 3)).Settle();
  ASSERT_EQ(s.job.launches.size(), 2u);
  EXPECT_EQ(s.job.launches[1].close_reason, CloseReason::kDone);
}

TEST(KeptTest, NeverForLongerThanAMachineLivesAlone) {
  Story s = Keeps();
  s.job.requests[0].limit = Duration::Minutes(10);
  s.See(End(1, 0, EndReason::kUserError, 3)).Pass();
  EXPECT_EQ(s.job.launches[0].kept_until, s.seen.now + Duration::Minutes(10));
}

}  // namespace
}  // namespace stoker::story
