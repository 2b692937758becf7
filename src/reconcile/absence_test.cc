// SPDX-License-Identifier: Apache-2.0
// A machine that a list leaves out, by providers whose lists may be behind or have holes.
#include <gtest/gtest.h>

#include "reconcile/reconcile.h"
#include "test/kit/story.h"

namespace stoker::story {
namespace {

// Long after the machines were asked for.
Story Lagging(int nodes = 1) {
  Story s(nodes);
  s.See(ListsMayLag()).Pass().See(AllRun()).Pass().See(After(3600));
  s.Expect(nodes == 1 ? "Running; 1 Running L1; sent L1" : "Running; 1 Running L1,L2; sent L1 L2");
  return s;
}
Fact Lists(int launch) {
  return [=](Story& s) { s.Machine(launch); };
}

TEST(AbsenceTest, OneListWithAHoleIsNoLoss) {
  Story s = Lagging();
  s.See(Vanishes(1), Quiet(1, 5, 5)).Settle().Expect("Running; 1 Running L1");
  EXPECT_FALSE(s.job.launches[0].absent_since) << "a node that reports needs no second look";
  s.See(Quiet(1, 40, 40)).Settle().Expect("Running; 1 Running L1");
  EXPECT_TRUE(s.job.launches[0].absent_since);
  s.See(Lists(1), After(60), Quiet(1, 60, 60)).Settle().Expect("Running; 1 Running L1");
  EXPECT_FALSE(s.job.launches[0].absent_since) << "it is listed again";
}

TEST(AbsenceTest, ASecondLookByAnybodySaysThatItIsGone) {
  Story s = Lagging();
  s.See(Vanishes(1), Quiet(1, 40, 0)).Settle().Expect("Running; 1 Running L1");
  s.See(After(29), Quiet(1, 69, 0)).Settle().Expect("Running; 1 Running L1");
  s.See(After(1), Quiet(1, 70, 0))
      .Settle()
      .Expect("Running; 1 Ended L1 (NodeLost); 2 Staging L2; L1 lost; sent L2");
}

TEST(AbsenceTest, WhatReportedBetweenTheLooksIsThere) {
  Story s = Lagging();
  s.See(Vanishes(1), Quiet(1, 40, 40)).Settle();
  const WallTime first = *s.job.launches[0].absent_since;
  s.See(After(3600), Quiet(1, 35, 35)).Settle().Expect("Running; 1 Running L1");
  EXPECT_EQ(*s.job.launches[0].absent_since, first + Duration::Hours(1)) << "a first look again";
  s.See(After(60), Quiet(1, 5, 5)).Settle().Expect("Running; 1 Running L1");
  s.See(After(60), Quiet(1, 35, 35)).Settle().Expect("Running; 1 Running L1");
}

TEST(AbsenceTest, ASilentNodeThatIsNotListedEitherIsLostAtOnceButNotYetGone) {
  Story s = Lagging();
  s.See(Vanishes(1), Quiet(1, 90, 90)).Settle().Expect("Running; 1 Running L1 (NodeLost); L1 lost");
  // It was a hole: it hangs, is there, and is ended before the next attempt begins.
  s.See(Lists(1), After(30), Quiet(1, 120, 120))
      .Pass()
      .Expect("Running; 1 Running L1 (NodeLost); ended m1");
  s.See(IsGone(1)).Settle().Expect(
      "Running; 1 Ended L1 (NodeLost); 2 Staging L2; sent L2; ended m1");
}

TEST(AbsenceTest, TheListOfAYoungMachineMayBeOlderThanIt) {
  Story s(1);
  s.See(ListsMayLag()).Pass().See(AllRun()).Pass().See(After(700));
  s.See(Vanishes(1), Quiet(1, 60, 5)).Settle();
  EXPECT_FALSE(s.job.launches[0].absent_since);
}

TEST(AbsenceTest, AnUnreadableReportOfARunningNodeIsNoMachineThatNeverCame) {
  Story s = Lagging();
  s.See(Vanishes(1), Unread(1, 0)).Settle().Expect("Running; 1 Running L1");
  s.See(Lists(1), After(60)).Pass();
  EXPECT_FALSE(s.job.launches[0].closed && *s.job.launches[0].close_reason != CloseReason::kLost);
}

TEST(AbsenceTest, AJobIsNotLeftByOneLook) {
  Story s = Lagging();
  s.See(End(1, 0, EndReason::kCompleted), Quiet(1, 5, 5)).Settle();
  s.See(After(60), Quiet(1, 65, 65), Vanishes(1)).Pass();
  EXPECT_FALSE(s.last.retire);
  s.See(After(30), Quiet(1, 95, 95)).Pass();
  EXPECT_TRUE(s.last.retire);
  EXPECT_FALSE(s.last.changed) << "no more is written of it";
}

// The list shows that a machine of the launch is gone; the node that reports is on another one.
Story WithTwin() {
  Story s(1);
  s.See(ListsMayLag()).Pass().See(AllRun(), IsGone(1));
  s.Report(1, 0).instance_id = "twin";
  return s;
}

TEST(AbsenceTest, TheDeathOfAMachineIsNotThatOfItsTwin) {
  Story s = WithTwin();
  s.Settle().Expect("Running; 1 Running L1; sent L1");
  s.seen.machines.push_back({"twin", 1, MachineState::kRunning, ""});
  s.See(After(3600)).Settle().Expect("Running; 1 Running L1");
}

TEST(AbsenceTest, ATwinThatIsSilentIsLostAndGoneOnceNoListIsBehind) {
  Story s = WithTwin();
  s.Settle().See(After(90), Quiet(1, 90, 90)).Settle();
  s.Expect("Running; 1 Running L1 (NodeLost); L1 lost; sent L1; ended m1");
  s.See(IsGone(1), After(600), Quiet(1, 601, 601)).Settle();
  EXPECT_EQ(s.job.attempts[0].state, AttemptState::kEnded);
}

// Asked for twice, and gone before its node has said anything: there may be a second one.
TEST(AbsenceTest, WhatWasAskedForTwiceIsGivenUpAtASecondLook) {
  Story s(1);
  s.See(ListsMayLag()).Pass();
  s.job.requests[0].tries = 2;
  s.Machine(1).freed = true;
  s.See(IsGone(1)).Settle().Expect("Pending; 1 Staging L1; sent L1");
  s.See(After(29)).Settle().Expect("Pending; 1 Staging L1");
  s.See(After(1)).Settle().Expect("Pending; 1 Staging L1 (NodeLost); L1 lost");
  s.See(After(59)).Settle();
  EXPECT_EQ(s.job.attempts[0].state, AttemptState::kStaging)
      << "a twin may begin on what it has read before";
  s.See(After(1)).Settle();
  EXPECT_EQ(s.job.attempts[0].state, AttemptState::kEnded);
}

TEST(AbsenceTest, WhatHasBegunHasNoTwinThatCan) {
  Story s(1);
  s.See(ListsMayLag()).Pass().See(AllRun(), IsGone(1));
  s.job.requests[0].tries = 2;
  s.Report(1, 0).instance_id = "m1";
  s.Settle().Expect("Pending; 1 Ended L1 (NodeLost); 2 Staging L2; L1 lost; sent L1 L2; ended m1");
}

TEST(AbsenceTest, OneThatIsOverIsNotTheOneThatReports) {
  Story s(1);
  s.See(ListsMayLag(), Outcome(1, No(RefusalClass::kOver))).Pass().See(AllRun());
  s.Pass(2).Expect("Running; 1 Running L1; sent L1");
}

TEST(AbsenceTest, WhereListsAreNeverBehindTheirWordCounts) {
  Story s = WithTwin();
  s.seen.places.front().absent_means_gone = true;
  s.Settle();
  EXPECT_EQ(s.job.attempts[0].state, AttemptState::kEnded) << "there is no twin";
}

}  // namespace
}  // namespace stoker::story
