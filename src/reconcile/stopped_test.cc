// SPDX-License-Identifier: Apache-2.0
// Machines that wait in their provider's queue, and machines whose power is off.
#include "test/kit/story.h"

namespace stoker::story {
namespace {

constexpr int64_t kHour = 3600;

TEST(Queued, NoClockRuns) {
  Story s;
  s.Pass().See(Queues(1)).Pass().Expect("Waiting; 1 Staging L1; sent L1");
  s.See(After(60 * kHour)).Settle().Expect("Waiting; 1 Staging L1");
  // Then the one of coming up begins, however long it waited.
  s.See(Boots(1), UpFor(1, 1)).Settle().Expect("Waiting; 1 Staging L1");
  s.See(After(590), UpFor(1, 591)).Settle().Expect("Waiting; 1 Staging L1");
  s.See(After(20), UpFor(1, 611)).Pass().Expect("Waiting; 1 Staging L1 (NodeLost); L1 lost");
}

TEST(Queued, ItRunsWhenItsTurnComes) {
  Story s;
  s.Pass().See(Queues(1)).Pass().See(After(5 * kHour), Boots(1), UpFor(1, 100)).Settle();
  s.See(AllRun()).Settle().Expect("Running; 1 Running L1; sent L1");
}

TEST(Queued, ACancelEndsIt) {
  Story s;
  s.Pass().See(Queues(1)).Pass().See(After(kHour), Cancel()).Settle();
  s.Expect("Cancelled (Cancelled); 1 Ended L1 (Cancelled); L1 superseded; sent L1; ended m1");
}

TEST(Queued, OneOfAGangWaitsForTheOther) {
  Story s(2);
  s.Pass().See(Queues(2), In(1, 0, NodePhase::kReady)).Pass();
  s.See(After(20 * kHour)).Settle().Expect("Waiting; 1 Staging L1,L2; sent L1 L2");
}

// A clock that is told and a queue that is not: as ever.
TEST(Queued, WhoNeverWaitedHasAsLongAsBefore) {
  Story s;
  s.Pass().See(Boots(1), UpFor(1, 1190), After(1190)).Settle();
  s.Expect("Pending; 1 Staging L1; sent L1");
  s.See(After(20), UpFor(1, 1210)).Pass().Expect("Pending; 1 Staging L1 (NodeLost); L1 lost");
}

TEST(Stopped, WhatHasBegunIsEndedAndReplaced) {
  for (const bool can_start : {false, true}) {
    Story s;
    if (can_start) s.See(CanStart());
    s.Pass().See(AllRun()).Settle().Expect("Running; 1 Running L1; sent L1");
    s.See(IsStopped(1), Quiet(1, 5, 5)).Pass();
    s.Expect("Running; 1 Running L1 (NodeLost); L1 lost");
    // It is no proof that nothing of it can be committed: it may come up. The end is.
    s.Pass().Expect("Running; 1 Running L1 (NodeLost); ended m1");
    s.Pass().Expect("Running; 1 Ended L1 (NodeLost); 2 Staging L2; sent L2");
  }
}

// A list that is behind shows what is over.
TEST(Stopped, ANodeThatHasJustSpokenIsUpAgain) {
  Story s;
  s.See(ListsMayLag()).Pass().See(AllRun()).Settle().Expect("Running; 1 Running L1; sent L1");
  s.See(IsStopped(1), Quiet(1, 20, 20)).Settle().Expect("Running; 1 Running L1");
  s.See(Quiet(1, 31, 31)).Pass().Expect("Running; 1 Running L1 (NodeLost); L1 lost");
}

TEST(Stopped, WhatHasBegunNothingIsStarted) {
  Story s;
  s.See(CanStart()).Pass().Expect("Pending; 1 Staging L1; sent L1");
  s.See(IsStopped(1), After(5)).Pass().Expect("Pending; 1 Staging L1; started m1");
  // By one of all who look, and not too often.
  s.See(After(50)).Settle().Expect("Pending; 1 Staging L1");
  s.See(After(11)).Pass().Expect("Pending; 1 Staging L1; started m1");
  s.See(Boots(1)).Settle().See(AllRun()).Settle().Expect("Running; 1 Running L1");
}

TEST(Stopped, StartingHasAnEnd) {
  Story s;
  s.See(CanStart()).Pass().See(IsStopped(1), After(1190)).Pass();
  s.Expect("Pending; 1 Staging L1; sent L1; started m1");
  s.See(After(20)).Pass().Expect("Pending; 1 Staging L1 (NodeLost); L1 lost");
  s.Pass().Expect("Pending; 1 Staging L1 (NodeLost); ended m1");
}

TEST(Stopped, WhereNothingIsStartedAgainItIsReplacedAtOnce) {
  Story s;
  s.Pass().See(IsStopped(1), After(5)).Pass(2);
  s.Expect("Pending; 1 Staging L1 (NodeLost); L1 lost; sent L1; ended m1");
}

TEST(Stopped, ACancelStartsNothing) {
  Story s;
  s.See(CanStart()).Pass().See(IsStopped(1), Cancel()).Settle();
  s.Expect("Cancelled (Cancelled); 1 Ended L1 (Cancelled); L1 lost; sent L1; ended m1");
}

// It costs until it is freed: the job does not leave before.
TEST(Stopped, AJobStaysUntilItIsFreed) {
  Story s;
  s.Pass().See(AllRun(), End(1, 0, EndReason::kCompleted)).Pass();
  EXPECT_TRUE(IsFinal(s.job.state));
  s.See(IsStopped(1)).Pass();
  EXPECT_FALSE(s.last.retire);
  s.Expect("Succeeded (Completed); 1 Ended L1 (Completed); L1 done; sent L1; ended m1");
  s.Pass();
  EXPECT_TRUE(s.last.retire);
}

// One of two machines of a launch is off: the other one is its machine.
TEST(Stopped, OneThatLivesSaysMore) {
  Story s;
  s.Pass().See(AllRun()).Settle();
  s.seen.machines.insert(s.seen.machines.begin(),
                         {"twin", 1, MachineState::kStopped, "", false, {}});
  s.Settle().Expect("Running; 1 Running L1; sent L1");
}

}  // namespace
}  // namespace stoker::story
