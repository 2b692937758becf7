// SPDX-License-Identifier: Apache-2.0
// on_stop: restart. A machine that was stopped keeps its launch, comes up, and goes on.
#include "test/kit/story.h"

namespace stoker::story {
namespace {

Fact WantsItAgain() {
  return [](Story& s) {
    s.spec.on_stop = OnStop::kRestart;
    s.seen.places.front().can_start = true;
    s.seen.places.front().may_stop = true;
  };
}
Fact StopNoticeOf(int attempt, int rank, int64_t seconds) {
  return [=](Story& s) {
    s.Report(attempt, rank).notice = Notice{"stop", s.seen.now + Duration::Seconds(seconds)};
  };
}
// It has been up for `seconds`; its reports are from before.
Fact ComesUp(int launch, int64_t seconds) {
  return [=](Story& s) {
    s.Machine(launch).state = MachineState::kRunning;
    s.Machine(launch).refusal.reset();
    UpFor(launch, seconds)(s);
    Quiet(launch, seconds + 60, seconds + 60)(s);
  };
}
// The node of the launch speaks in `attempt`, for the first time after its boot.
Fact Speaks(int launch, int attempt, int rank, NodePhase phase) {
  return [=](Story& s) {
    In(attempt, rank, phase)(s);
    s.Report(attempt, rank).notice.reset();
    UpFor(launch, 30)(s);
    Quiet(launch, 0, 0)(s);
  };
}
Fact StartRefused(int launch, RefusalClass what) {
  return [=](Story& s) {
    (void)NoteStarts(s.job, {{"m" + std::to_string(launch), No(what)}}, s.seen.now);
  };
}

Story Wanting(int nodes = 1) {
  Story s(nodes);
  s.See(WantsItAgain()).Pass().See(AllRun()).Settle();
  s.Expect(nodes == 1 ? "Running; 1 Running L1; sent L1" : "Running; 1 Running L1,L2; sent L1 L2");
  return s;
}

TEST(Restart, ANoticeOfAStopOpensNoSuccessorAndTheSameMachineGoesOn) {
  Story s = Wanting();
  s.See(StopNoticeOf(1, 0, 30)).Settle().Expect("Running; 1 Draining L1");
  s.See(Committed({"1-3"}), After(20), End(1, 0, EndReason::kInterrupted)).Settle();
  s.Expect("Running; 1 Ended L1 (Interrupted); 2 Provisioning L1");
  s.See(After(20), IsStopped(1), Quiet(1, 30, 30)).Pass();
  s.Expect("Running; 1 Ended L1 (Interrupted); 2 Provisioning L1; started m1");
  EXPECT_EQ(s.job.launches[0].starts, 1);
  EXPECT_TRUE(s.job.launches[0].stopped_since);
  // What was said before the stop is no silence.
  s.See(After(400), ComesUp(1, 200)).Settle();
  s.Expect("Running; 1 Ended L1 (Interrupted); 2 Provisioning L1");
  s.See(After(1), Speaks(1, 2, 0, NodePhase::kWaiting)).Settle();
  s.Expect("Running; 1 Ended L1 (Interrupted); 2 Staging L1 from 1-3");
  EXPECT_FALSE(s.job.launches[0].stopped_since);
  EXPECT_EQ(s.job.launches[0].starts, 1);
}

TEST(Restart, ThreeTimesInOneJob) {
  Story s = Wanting();
  for (int n = 1; n <= 3; ++n) {
    s.See(StopNoticeOf(n, 0, 30)).Settle();
    s.See(After(20), End(n, 0, EndReason::kInterrupted)).Settle();
    s.See(After(90), IsStopped(1), Quiet(1, 90, 90)).Pass();
    EXPECT_EQ(s.last.start.size(), 1U);
    s.See(ComesUp(1, 5)).Settle().See(Speaks(1, n + 1, 0, NodePhase::kWaiting)).Settle();
    s.See(In(n + 1, 0, NodePhase::kRunning)).Settle();
  }
  EXPECT_EQ(s.job.launches.size(), 1U);
  EXPECT_EQ(s.job.launches[0].starts, 3);
  s.See(End(4, 0, EndReason::kCompleted)).Settle();
  EXPECT_EQ(s.job.state, JobState::kSucceeded);
}

TEST(Restart, WithoutANoticeItsNodeSaysWhatBecameOfIt) {
  Story s = Wanting(2);
  s.See(IsStopped(1), Quiet(1, 5, 5)).Pass();
  s.Expect("Running; 1 Running L1,L2 (NodeLost); started m1");
  s.See(Told(1, 1)).Settle().Expect("Running; 1 Running L1,L2 (NodeLost)");
  s.See(After(100), ComesUp(1, 20)).Settle().Expect("Running; 1 Running L1,L2 (NodeLost)");
  s.See(End(1, 0, EndReason::kNodeLost), Quiet(1, 0, 0)).Settle();
  s.Expect("Running; 1 Ended L1,L2 (NodeLost); 2 Staging L1,L2");
}

TEST(Restart, OneOfAllAsksAndNotTooOften) {
  Story s = Wanting();
  s.See(IsStopped(1)).Pass().Expect("Running; 1 Running L1 (NodeLost); started m1");
  s.See(After(59)).Settle().Expect("Running; 1 Running L1 (NodeLost)");
  s.See(After(2)).Pass().Expect("Running; 1 Running L1 (NodeLost); started m1");
}

TEST(Restart, NoRoomReplacesIt) {
  for (const RefusalClass what : {RefusalClass::kCapacity, RefusalClass::kQuota}) {
    Story s = Wanting();
    s.See(StopNoticeOf(1, 0, 30), End(1, 0, EndReason::kInterrupted)).Settle();
    s.See(IsStopped(1))
        .Pass()
        .Expect("Running; 1 Ended L1 (Interrupted); 2 Provisioning L1; started m1");
    s.See(StartRefused(1, what)).Pass();
    s.Expect("Running; 1 Ended L1 (Interrupted); 2 Staging L2; L1 interrupted; sent L2");
    s.Pass().Expect("Running; 1 Ended L1 (Interrupted); 2 Staging L2; ended m1");
  }
}

TEST(Restart, NoRoomToldLateReplacesIt) {
  Story s = Wanting();
  s.See(IsStopped(1)).Pass().Expect("Running; 1 Running L1 (NodeLost); started m1");
  s.See(After(5), [](Story& t) { t.Machine(1).refusal = No(RefusalClass::kCapacity); }).Pass();
  s.Expect("Running; 1 Running L1 (NodeLost); L1 interrupted");
  s.Pass().Expect("Running; 1 Running L1 (NodeLost); ended m1");
  s.Pass().Expect("Running; 1 Ended L1 (Interrupted); 2 Staging L2; sent L2");
}

TEST(Restart, WhoMayNotIsNoWordOfThePlace) {
  Story s = Wanting();
  s.See(IsStopped(1)).Pass().See(StartRefused(1, RefusalClass::kDenied), After(61)).Pass();
  s.Expect("Running; 1 Running L1 (NodeLost); started m1 m1");
}

TEST(Restart, ItHasAnEnd) {
  Story s = Wanting();
  s.See(IsStopped(1)).Pass().See(After(1199)).Pass();
  s.Expect("Running; 1 Running L1 (NodeLost); started m1 m1");
  s.See(After(2)).Pass().Expect("Running; 1 Running L1 (NodeLost); L1 interrupted");
  s.Pass().Expect("Running; 1 Running L1 (NodeLost); ended m1");
}

TEST(Restart, ANodeThatDoesNotSpeakAfterItsBootIsReplaced) {
  Story s = Wanting();
  s.See(IsStopped(1)).Pass().Expect("Running; 1 Running L1 (NodeLost); started m1");
  s.See(After(60), ComesUp(1, 599)).Settle().Expect("Running; 1 Running L1 (NodeLost)");
  s.See(After(2), ComesUp(1, 601)).Pass().Expect("Running; 1 Running L1 (NodeLost); L1 lost");
}

// A look at which its provider does not answer says nothing of what was stopped an hour ago.
TEST(Restart, AProviderThatDoesNotAnswerChangesNothing) {
  Story s = Wanting();
  s.See(StopNoticeOf(1, 0, 30), End(1, 0, EndReason::kInterrupted)).Settle();
  s.See(After(60), IsStopped(1), Quiet(1, 60, 60))
      .Pass()
      .Expect("Running; 1 Ended L1 (Interrupted); 2 Provisioning L1; started m1");
  s.See(After(3600), Quiet(1, 3660, 60), ProviderSilent(), Vanishes(1)).Settle();
  s.Expect("Running; 1 Ended L1 (Interrupted); 2 Provisioning L1");
}

TEST(Restart, ANoticeOfAnEndIsOne) {
  Story s = Wanting();
  s.See(NoticeOf(1, 0, 30)).Pass();
  s.Expect("Running; 1 Draining L1; 2 Provisioning L2; sent L2");
}

TEST(Restart, ANoticeThatNothingComesOfIsGivenUp) {
  Story s = Wanting();
  s.See(StopNoticeOf(1, 0, 30), End(1, 0, EndReason::kInterrupted)).Settle();
  s.Expect("Running; 1 Ended L1 (Interrupted); 2 Provisioning L1");
  s.See(After(331)).Pass();
  s.Expect("Running; 1 Ended L1 (Interrupted); 2 Staging L2; L1 interrupted; sent L2");
}

TEST(Restart, ACancelStartsNothing) {
  Story s = Wanting();
  s.See(IsStopped(1), Cancel()).Settle();
  s.Expect("Cancelled (Cancelled); 1 Ended L1 (Cancelled); L1 lost; ended m1");
}

TEST(Restart, WherePlacesStartNothingItIsReplaced) {
  Story s;
  s.See(WantsItAgain(), [](Story& t) { t.seen.places.front().can_start = false; });
  s.Pass().See(AllRun()).Settle().See(StopNoticeOf(1, 0, 30)).Pass();
  s.Expect("Running; 1 Draining L1; 2 Provisioning L2; sent L1 L2");
}

}  // namespace
}  // namespace stoker::story
