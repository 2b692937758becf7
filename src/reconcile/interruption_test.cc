// SPDX-License-Identifier: Apache-2.0
// Notices, drains, losses, and what the next attempt keeps and restores.
#include <gtest/gtest.h>

#include "reconcile/reconcile.h"
#include "test/kit/story.h"

namespace stoker::story {
namespace {

Story RunningStory(int nodes = 1) {
  Story s(nodes);
  s.Pass().See(AllRun()).Pass().Expect(nodes == 1 ? "Running; 1 Running L1; sent L1"
                                                  : "Running; 1 Running L1,L2; sent L1 L2");
  return s;
}

// ---- notices ----

TEST(InterruptionTest, ANoticeDrainsOpensTheNextAttemptAndSendsItInOneWrite) {
  Story s = RunningStory();
  s.See(NoticeOf(1, 0, 120)).Pass().Expect("Running; 1 Draining L1; 2 Provisioning L2; sent L2");
  EXPECT_EQ(s.job.attempts[0].drain_until, s.seen.now + Duration::Seconds(120));
  EXPECT_TRUE(s.job.attempts[0].noticed);
  s.Settle().Expect("Running; 1 Draining L1; 2 Provisioning L2");
}

TEST(InterruptionTest, TheNextAttemptBeginsFromTheNewestCheckpointOnceTheDrainedOneEnded) {
  RunningStory()
      .See(NoticeOf(1, 0, 120))
      .Pass()
      .See(In(2, 0, NodePhase::kWaiting), Committed({"1-3", "1-2"}))
      .Settle()
      .Expect("Running; 1 Draining L1; 2 Provisioning L2; sent L2")
      .See(End(1, 0, EndReason::kInterrupted), Committed({"1-4", "1-3", "1-2"}))
      .Settle()
      .Expect("Running; 1 Ended L1 (Interrupted); 2 Staging L2 from 1-4; L1 interrupted");
}

TEST(InterruptionTest, SurvivorsAreKeptInPlace) {
  RunningStory(2)
      .See(NoticeOf(1, 1, 120))
      .Pass()
      .Expect("Running; 1 Draining L1,L2; 2 Provisioning L1,L3; sent L3")
      .See(End(1, 1, EndReason::kInterrupted), Committed({"1-1"}))
      .Settle()
      .Expect("Running; 1 Draining L1,L2 (Interrupted); 2 Provisioning L1,L3")
      .See(Told(1, 0))
      .Settle()
      .Expect("Running; 1 Ended L1,L2 (Interrupted); 2 Staging L1,L3 from 1-1; L2 interrupted");
}

TEST(InterruptionTest, AWithdrawnNoticeClosesTheNextAttempt) {
  RunningStory()
      .See(NoticeOf(1, 0, 120))
      .Pass()
      .See(NoticeOf(1, 0, -1))
      .Settle()
      .Expect("Running; 1 Running L1; 2 Ended L2 (Cancelled); L2 superseded; sent L2; ended m2");
}

TEST(InterruptionTest, AWithdrawnNoticeBeforeTheProgramRanGoesBackToStaging) {
  Story(1)
      .Pass()
      .See(In(1, 0, NodePhase::kStaging), NoticeOf(1, 0, 120))
      .Pass()
      .Expect("Pending; 1 Draining L1; 2 Provisioning L2; sent L1 L2")
      .See(NoticeOf(1, 0, -1))
      .Pass()
      .See(AllRun())
      .Settle()
      .Expect("Running; 1 Running L1; 2 Ended L2 (Cancelled); L2 superseded; ended m2");
}

TEST(InterruptionTest, ANewNoticeAfterAWithdrawnOneOpensYetAnotherAttempt) {
  RunningStory()
      .See(NoticeOf(1, 0, 120))
      .Pass()
      .See(NoticeOf(1, 0, -1))
      .Settle()
      .See(NoticeOf(1, 0, 60))
      .Settle()
      .Expect(
          "Running; 1 Draining L1; 2 Ended L2 (Cancelled); 3 Provisioning L3; "
          "L2 superseded; sent L2 L3; ended m2");
}

TEST(InterruptionTest, AnAttemptThatANoticeWithdrawnBeforeHadEndedIsNotEndedAgain) {
  Story s = RunningStory();
  s.See(NoticeOf(1, 0, 120)).Pass().See(NoticeOf(1, 0, -1)).Settle();
  const auto ended = s.job.attempts.at(1).ended;
  s.See(After(30), NoticeOf(1, 0, 60)).Settle().See(After(30), NoticeOf(1, 0, -1)).Settle();
  EXPECT_EQ(s.job.attempts.at(1).ended, ended);
  EXPECT_EQ(s.job.attempts.at(2).state, AttemptState::kEnded);
}

TEST(InterruptionTest, ASecondNoticeWhileDrainingReplacesThatLaunchInTheNextAttempt) {
  Story s = RunningStory(2);
  s.See(NoticeOf(1, 1, 30))
      .Pass()
      .See(NoticeOf(1, 0, 120))
      .Settle()
      .Expect("Running; 1 Draining L1,L2; 2 Provisioning L4,L3; sent L3 L4");
  EXPECT_EQ(s.job.attempts[0].drain_until, s.seen.now + Duration::Seconds(120));
}

TEST(InterruptionTest, ANoticeToAMachineOfAnAttemptThatHasNotBegunReplacesIt) {
  RunningStory()
      .See(NoticeOf(1, 0, 120))
      .Pass()
      .See(In(2, 0, NodePhase::kWaiting), NoticeOf(2, 0, 60))
      .Settle()
      .Expect("Running; 1 Draining L1; 2 Provisioning L3; L2 interrupted; sent L2 L3");
}

TEST(InterruptionTest, AMachineLostBeforeItsAttemptBeganIsReplaced) {
  RunningStory()
      .See(NoticeOf(1, 0, 120))
      .Pass()
      .See(IsGone(2))
      .Pass()
      .Expect("Running; 1 Draining L1; 2 Provisioning L3; L2 lost; sent L2 L3");
}

TEST(InterruptionTest, ANodeThatCompletedMayBeTaken) {
  RunningStory(2)
      .See(End(1, 0, EndReason::kCompleted), NoticeOf(1, 0, 30))
      .Settle()
      .Expect("Running; 1 Running L1,L2")
      .See(After(300), IsGone(1))
      .Settle()
      .Expect("Running; 1 Running L1,L2; L1 interrupted; ended m1")
      .See(End(1, 1, EndReason::kCompleted))
      .Settle()
      .Expect("Succeeded (Completed); 1 Ended L1,L2 (Completed); L2 done");
}

TEST(InterruptionTest, CompletingUnderANoticeIsSuccessAndTheNextAttemptIsNotNeeded) {
  RunningStory()
      .See(NoticeOf(1, 0, 120))
      .Pass()
      .See(End(1, 0, EndReason::kCompleted))
      .Settle()
      .Expect("Succeeded (Completed); 2 Ended L2 (Cancelled); L1 done; L2 done; sent L2; ended m2");
}

TEST(InterruptionTest, ANodeThatSaysNothingAfterItsNoticeIsTakenToBeGone) {
  RunningStory()
      .See(NoticeOf(1, 0, 30))
      .Pass()
      .See(After(90))
      .Settle()
      .Expect("Running; 1 Draining L1; 2 Provisioning L2; sent L2")
      .See(After(1), Vanishes(1), ListsMayLag(), Quiet(1, 601, 80))
      .Settle()
      .Expect("Running; 1 Draining L1 (Interrupted); 2 Provisioning L2")
      .See(After(30), Quiet(1, 631, 85))
      .Settle()
      .Expect("Running; 1 Ended L1 (Interrupted); 2 Staging L2; L1 interrupted");
}

// The notice may have been withdrawn while the node could not reach the store: it still trains.
TEST(InterruptionTest, AfterANoticeAMachineThatIsThereIsWaitedFor) {
  RunningStory()
      .See(NoticeOf(1, 0, 30))
      .Pass()
      .See(After(91))
      .Settle()
      .Expect("Running; 1 Draining L1 (Interrupted); 2 Provisioning L2; sent L2")
      .See(ProviderSilent(), Vanishes(1), ListsMayLag(), Quiet(1, 601, 80))
      .Settle()
      .Expect("Running; 1 Draining L1 (Interrupted); 2 Provisioning L2")
      .See(ProviderSilent(false))
      .Settle()
      .Expect("Running; 1 Draining L1 (Interrupted); 2 Provisioning L2")
      .See(After(30), Quiet(1, 631, 85))
      .Settle()
      .Expect("Running; 1 Ended L1 (Interrupted); 2 Staging L2; L1 interrupted");
}

// Seed 169511: it was cut off, went on, heard that it was given up, and failed as its peers left.
TEST(InterruptionTest, WhatFailsAfterItWasGivenUpForItsNoticeIsNoUserError) {
  RunningStory(2)
      .See(NoticeOf(1, 1, 30))
      .Pass()
      .See(After(91))
      .Settle()
      .Expect("Running; 1 Draining L1,L2 (Interrupted); 2 Provisioning L1,L3; sent L3")
      .See(Told(1, 0), NoticeOf(1, 1, -1), End(1, 1, EndReason::kUserError, 1))
      .Settle()
      .Expect("Running; 1 Ended L1,L2 (Interrupted); 2 Staging L1,L3; L2 superseded");
}

TEST(InterruptionTest, SurvivorsOfANoticeThatRanOutAreWaitedFor) {
  RunningStory(2)
      .See(NoticeOf(1, 1, 30))
      .Pass()
      .See(After(91))
      .Settle()
      .Expect("Running; 1 Draining L1,L2 (Interrupted); 2 Provisioning L1,L3; sent L3")
      .See(Told(1, 0), IsGone(2))
      .Settle()
      .Expect("Running; 1 Ended L1,L2 (Interrupted); 2 Staging L1,L3; L2 interrupted; ended m2");
}

TEST(InterruptionTest, AZeroSecondNoticeWorksTheSame) {
  RunningStory()
      .See(NoticeOf(1, 0, 0), IsGone(1))
      .Settle()
      .Expect("Running; 1 Ended L1 (Interrupted); 2 Staging L2; L1 interrupted; sent L2; ended m1");
}

TEST(InterruptionTest, AfterAWithdrawnNoticeALossIsFollowedLikeAnyOther) {
  RunningStory()
      .See(NoticeOf(1, 0, 120))
      .Pass()
      .See(NoticeOf(1, 0, -1))
      .Settle()
      .See(End(1, 0, EndReason::kNodeLost), Committed({"1-2"}))
      .Settle()
      .Expect(
          "Running; 2 Ended L2 (Cancelled); 3 Staging L1 from 1-2; L2 superseded; sent L2; "
          "ended m2");
}

// ---- losses ----

TEST(InterruptionTest, AMachineThatIsGoneIsWrittenDownBeforeAnythingElseHappens) {
  RunningStory()
      .See(IsGone(1))
      .Pass()
      .Expect("Running; 1 Running L1 (NodeLost); L1 lost")
      .Pass()
      .Expect("Running; 1 Ended L1 (NodeLost); 2 Staging L2; sent L2; ended m1");
}

TEST(InterruptionTest, TheLastWordOfALostMachineCounts) {
  // Its report was written after the reports were read and before the machine was seen to be gone.
  RunningStory()
      .See(IsGone(1))
      .Pass()
      .Expect("Running; 1 Running L1 (NodeLost); L1 lost")
      .See(End(1, 0, EndReason::kCompleted))
      .Settle()
      .Expect("Succeeded (Completed); 1 Ended L1 (Completed); ended m1");
}

TEST(InterruptionTest, SilentNeedsBothTheAgeAndTheSameReportSeenForAsLong) {
  struct Case {
    int64_t age, unchanged;
    bool lost;
  };
  for (const Case& c : {Case{89, 200, false}, Case{200, 89, false}, Case{90, 90, true}}) {
    RunningStory()
        .See(Quiet(1, c.age, c.unchanged))
        .Pass()
        .Expect(c.lost ? "Running; 1 Running L1 (NodeLost); L1 lost" : "Running; 1 Running L1");
  }
}

TEST(InterruptionTest, ASilentNodeIsNotFollowedBeforeItsMachineIsGone) {
  Story s = RunningStory();
  s.See(Quiet(1, 90, 90)).Pass().Expect("Running; 1 Running L1 (NodeLost); L1 lost");
  // The provider does not answer: nobody knows whether the program still runs.
  s.See(ProviderSilent()).See(Vanishes(1)).Pass(3).Expect("Running; 1 Running L1 (NodeLost)");
  s.See(ProviderSilent(false))
      .Pass()
      .Expect("Running; 1 Ended L1 (NodeLost); 2 Staging L2; sent L2");
}

TEST(InterruptionTest, ASilentMachineIsEndedOnlyInALaterPass) {
  RunningStory()
      .See(Quiet(1, 90, 90))
      .Pass()
      .Expect("Running; 1 Running L1 (NodeLost); L1 lost")
      .Pass()
      .Expect("Running; 1 Running L1 (NodeLost); ended m1")
      .Pass()
      .Expect("Running; 1 Ended L1 (NodeLost); 2 Staging L2; sent L2");
}

TEST(InterruptionTest, AnAnswerThatLeavesOutAYoungMachineIsNotBelieved) {
  Story s = RunningStory();
  s.See(ListsMayLag());
  s.See(Vanishes(1), Quiet(1, 300, 300), After(60)).Settle().Expect("Running; 1 Running L1");
  s.See(After(1200), Quiet(1, 5, 5)).Settle().Expect("Running; 1 Running L1");
  s.See(Quiet(1, 90, 5)).Settle().Expect("Running; 1 Running L1");
  s.See(After(30), Quiet(1, 120, 5))
      .Settle()
      .Expect("Running; 1 Ended L1 (NodeLost); 2 Staging L2; L1 lost; sent L2");
}

TEST(InterruptionTest, AbsentMeansGoneWhereTheProviderSaysSo) {
  RunningStory()
      .See(Vanishes(1))
      .Settle()
      .Expect("Running; 1 Ended L1 (NodeLost); 2 Staging L2; L1 lost; sent L2");
}

TEST(InterruptionTest, WithoutAnAnswerFromTheProviderNobodyIsLost) {
  RunningStory()
      .See(Vanishes(1), ProviderSilent(), After(3600))
      .Settle()
      .Expect("Running; 1 Running L1");
}

TEST(InterruptionTest, AnAgentThatWasStartedAgainBeginsANewAttemptInPlace) {
  RunningStory(2)
      .See(End(1, 1, EndReason::kNodeLost), Committed({"1-7"}))
      .Settle()
      .Expect("Running; 1 Running L1,L2 (NodeLost)")
      .See(Told(1, 0))
      .Settle()
      .Expect("Running; 1 Ended L1,L2 (NodeLost); 2 Staging L1,L2 from 1-7");
}

TEST(InterruptionTest, AMachineWithAFaultIsNotKept) {
  RunningStory(2)
      .See(End(1, 1, EndReason::kNodeFault), Told(1, 0))
      .Settle()
      .Expect("Running; 1 Ended L1,L2 (NodeFault); 2 Staging L1,L3; L2 superseded; sent L3");
}

TEST(InterruptionTest, ALossDuringTheRetryDelayIsReplacedAndTheDelayKept) {
  Story s = RunningStory();
  for (int i = 1; i <= 3; ++i) s.See(End(i, 0, EndReason::kNodeLost)).Pass();
  ASSERT_TRUE(s.job.retry_after.has_value());
  s.Expect("Running; 3 Ended L1 (NodeLost); 4 Provisioning L1");
  s.See(IsGone(1)).Settle().Expect(
      "Running; 3 Ended L1 (NodeLost); 4 Provisioning L2; L1 lost; sent L2; ended m1");
  s.See(After(60)).Settle().Expect("Running; 3 Ended L1 (NodeLost); 4 Staging L2");
}

// ---- what is restored ----

TEST(InterruptionTest, SuspectCheckpointsAreSteppedOver) {
  Story s = RunningStory();
  s.job.suspects = {"1-3"};
  s.See(End(1, 0, EndReason::kInterrupted), Committed({"1-3", "1-2"}))
      .Settle()
      .Expect("Running; 1 Ended L1 (Interrupted); 2 Staging L1 from 1-2");
}

TEST(InterruptionTest, WhatWasLeftIsRestoredWhereNothingIsWhole) {
  Story s = RunningStory();
  s.as_left = {"as-left-1"};
  s.See(End(1, 0, EndReason::kInterrupted))
      .Settle()
      .Expect("Running; 1 Ended L1 (Interrupted); 2 Staging L1 from as-left-1");
  EXPECT_EQ(s.job.attempts[0].as_left, "as-left-1");
  EXPECT_EQ(s.job.attempts[0].newest_checkpoint, "");
  // It fails on that; what it has made of it is no better.
  s.as_left = {"as-left-2", "as-left-1"};
  s.See(AllRun(), End(2, 0, EndReason::kUserError, 9))
      .Settle()
      .Expect("Running; 2 Ended L1 from as-left-1 (UserError 9); 3 Staging L1");
  EXPECT_EQ(s.job.suspects, (std::vector<std::string>{"as-left-1", "as-left-2"}));
}

TEST(InterruptionTest, WhatWasLeftComesAfterEveryWholeCheckpoint) {
  Story s = RunningStory();
  s.as_left = {"as-left-1"};
  s.See(End(1, 0, EndReason::kInterrupted), Committed({"1-2"}))
      .Settle()
      .Expect("Running; 1 Ended L1 (Interrupted); 2 Staging L1 from 1-2");
}

TEST(InterruptionTest, APoisonedCheckpointGetsOneAttemptFromTheOneBeforeIt) {
  RunningStory()
      .See(End(1, 0, EndReason::kInterrupted), Committed({"1-3", "1-2"}))
      .Settle()
      .Expect("Running; 1 Ended L1 (Interrupted); 2 Staging L1 from 1-3")
      .See(End(2, 0, EndReason::kUserError, 1))
      .Settle()
      .Expect("Running; 2 Ended L1 from 1-3 (UserError 1); 3 Staging L1 from 1-2")
      .See(End(3, 0, EndReason::kUserError, 1))
      .Settle()
      .Expect("Failed (NoProgress 1); 3 Ended L1 from 1-2 (UserError 1); L1 done");
}

TEST(InterruptionTest, ACheckpointThatCannotBeRestoredIsSuspectAndTheMachineIsKept) {
  Story s = RunningStory();
  s.See(End(1, 0, EndReason::kInterrupted), Committed({"1-3", "1-2"})).Settle();
  s.See(End(2, 0, EndReason::kNodeFault));
  s.Report(2, 0).restore_error = "model.pt: wrong digest";
  s.Settle().Expect("Running; 2 Ended L1 from 1-3 (NodeFault); 3 Staging L1 from 1-2");
}

TEST(InterruptionTest, WhatAnAttemptCommittedAndRanIsInTheRecordWhenItEnded) {
  Story s = RunningStory(2);
  s.See(End(1, 0, EndReason::kInterrupted), Told(1, 1), Committed({"1-9", "1-8"}));
  s.Report(1, 0).run_ms = 4000;
  s.Report(1, 1).run_ms = 5000;
  s.Settle();
  EXPECT_EQ(s.job.attempts[0].newest_checkpoint, "1-9");
  EXPECT_EQ(s.job.attempts[0].run_ms, 5000);
  EXPECT_EQ(s.job.attempts[1].restore, "1-9");
}

TEST(InterruptionTest, CheckpointsOfAnotherJobAreNoProgressOfThisOne) {
  Story s(1);
  s.job.retry_of = "1-b2-first";
  s.See(Committed({"1-b2-first/1-7"})).Pass().See(AllRun(), End(1, 0, EndReason::kNodeLost));
  s.Pass().Expect(
      "Pending; 1 Ended L1 from 1-b2-first/1-7 (NodeLost); "
      "2 Staging L1 from 1-b2-first/1-7; sent L1");
  EXPECT_EQ(s.job.attempts[0].newest_checkpoint, "");
}

TEST(InterruptionTest, CheckpointsAreAskedForOnlyWhenTheyDecide) {
  Story s = RunningStory();
  EXPECT_FALSE(Reconcile(s.job, s.spec, s.seen).want_checkpoints);
  s.See(End(1, 0, EndReason::kInterrupted));
  const Decision without = Reconcile(s.job, s.spec, s.seen);
  EXPECT_TRUE(without.want_checkpoints);
  EXPECT_TRUE(without.send.empty());
  EXPECT_EQ(without.job.attempts[0].state, AttemptState::kRunning);
}

TEST(InterruptionTest, AJobThatRetriesAnotherStartsFromItsCheckpoints) {
  Story s(1);
  s.job.retry_of = "zz99-first";
  s.See(Committed({"0-1"})).Pass().Expect("Pending; 1 Staging L1 from 0-1; sent L1");
}

// What its user was told that it goes on from is gone: to begin at the start would be another job.
TEST(InterruptionTest, WhatWasPromisedACheckpointNeverBeginsAtTheStart) {
  for (const bool from : {false, true}) {
    Story s(1);
    s.job.retry_of = "zz99-first";
    if (from) s.job.from = "zz99-first";
    if (!from) s.job.promised = "zz99-first/1-8";
    s.See(Committed({})).Settle();
    EXPECT_EQ(s.job.state, JobState::kFailed);
    EXPECT_EQ(s.job.result->reason, EndReason::kNoProgress);
    EXPECT_NE(s.job.result->why.find("go on from zz99-first"), std::string::npos);
    EXPECT_TRUE(s.job.attempts[0].not_needed);
  }
}

// Nor once what it began from has gone, or has failed it.
TEST(InterruptionTest, NorIsItsNextAttemptBegunAtTheStart) {
  Story s(1);
  s.job.retry_of = "zz99-first";
  s.job.promised = "zz99-first/1-8";
  s.See(Committed({"zz99-first/1-8"})).Pass().See(AllRun(), End(1, 0, EndReason::kInterrupted));
  s.See(Committed({})).Settle();
  EXPECT_EQ(s.job.state, JobState::kFailed);
  EXPECT_NE(s.job.result->why.find("failed or is gone"), std::string::npos);
}

// The same code failed on what it began from: something else may have been wrong there.
TEST(InterruptionTest, AfterAFailureOnWhatWasPromisedARetryBeginsAtTheStart) {
  for (const bool from : {false, true}) {
    Story s(1);
    s.job.retry_of = "zz99-first";
    s.job.promised = "zz99-first/1-8";
    if (from) s.job.from = "zz99-first";
    s.See(Committed({"zz99-first/1-8"})).Pass().See(AllRun(), End(1, 0, EndReason::kUserError, 1));
    s.See(Committed({})).Settle();
    EXPECT_EQ(s.job.state == JobState::kFailed, from);
    EXPECT_EQ(s.job.attempts[1].restore, "");
  }
}

TEST(InterruptionTest, ManyInterruptionsAreNeverNoProgress) {
  Story s = RunningStory();
  for (int i = 1; i <= 60; ++i) s.See(End(i, 0, EndReason::kInterrupted)).Settle();
  EXPECT_EQ(s.job.attempts.size(), 61U);
  EXPECT_EQ(s.job.state, JobState::kRunning);
}

TEST(InterruptionTest, ManyLossesWithoutProgressAre) {
  Story s = RunningStory();
  for (int i = 1; i <= 20 && s.job.state == JobState::kRunning; ++i) {
    s.See(End(i, 0, EndReason::kNodeLost), After(600)).Settle();
  }
  EXPECT_EQ(s.job.state, JobState::kFailed);
  EXPECT_EQ(s.job.result->reason, EndReason::kNoProgress);
  EXPECT_EQ(s.job.attempts.size(), 20U);
}

}  // namespace
}  // namespace stoker::story
