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

// ---- until it is known who ended it ----

Story AtAPlaceThatTells(int nodes = 1) {
  Story s(nodes);
  s.seen.places[0].tells_ender = true;
  s.seen.places[0].absent_means_gone = false;
  s.Pass().See(AllRun()).Pass();
  s.sent.clear();
  return s;
}

// Its host shuts down, and nobody has said why.
Fact ShutsDown(int attempt, int rank) {
  return [=](Story& s) {
    NoticeOf(attempt, rank, 20)(s);
    s.Report(attempt, rank).notice->unexplained = true;
  };
}

Fact IsKnown(int launch, EndedBy by) {
  return [=](Story& s) { s.Machine(launch).ended_by = by; };
}

TEST(EndedBy, NothingIsSentBeforeItIsKnownWhoEndsIt) {
  AtAPlaceThatTells()
      .See(ShutsDown(1, 0))
      .Settle()
      .Expect("Running; 1 Draining L1; 2 Provisioning L2")
      .See(After(25), End(1, 0, EndReason::kInterrupted))
      .Settle()
      .Expect("Running; 1 Ended L1 (Interrupted); 2 Staging L2")
      .See(IsKnown(1, EndedBy::kOwner))
      .Settle()
      .Expect("Cancelled (Cancelled); 2 Ended L2 (Cancelled); L1 interrupted; L2 superseded");
}

TEST(EndedBy, WhatNobodyEndedByHandIsReplacedAtOnce) {
  AtAPlaceThatTells()
      .See(ShutsDown(1, 0))
      .Settle()
      .See(After(3), IsKnown(1, EndedBy::kOther))
      .Settle()
      .Expect("Running; 1 Draining L1; 2 Provisioning L2; sent L2");
}

// Its platform has told it before: nobody's hand, and nothing waits.
TEST(EndedBy, ANoticeOfThePlatformIsNotWaitedFor) {
  AtAPlaceThatTells()
      .See(NoticeOf(1, 0, 120))
      .Pass()
      .Expect("Running; 1 Draining L1; 2 Provisioning L2; sent L2");
}

// Where a place never says it, there is nothing to wait for.
TEST(EndedBy, WhereItIsNeverToldNothingWaits) {
  Story s;
  s.Pass().See(AllRun()).Settle().Expect("Running; 1 Running L1; sent L1");
  s.See(ShutsDown(1, 0)).Settle().Expect("Running; 1 Draining L1; 2 Provisioning L2; sent L2");
}

// Also while the place does not answer: the request was never sent, so nothing can have come of it.
// The node that shuts down stays until then, for it may be the only one that asks.
TEST(EndedBy, AfterAMinuteItIsSentAndThatIsSaid) {
  Story s = AtAPlaceThatTells();
  s.See(ShutsDown(1, 0), End(1, 0, EndReason::kInterrupted)).See([](Story& t) {
    t.seen.places[0].known = false;
    t.seen.machines.clear();
  });
  s.Settle().See(After(59)).Settle();
  s.Expect("Running; 1 Ended L1 (Interrupted); 2 Staging L2");
  EXPECT_FALSE(FindLaunch(s.job, 1)->closed);
  s.See(After(1)).Settle();
  s.Expect("Running; 1 Ended L1 (Interrupted); 2 Staging L2; L1 interrupted; sent L2");
  EXPECT_EQ(s.job.requests.back().reason, "nothing said within 1m 0s who ended m1");
}

TEST(EndedBy, WhatIsGoneWithoutAWordIsWaitedForToo) {
  AtAPlaceThatTells()
      .See(IsGone(1), Quiet(1, 5, 5))
      .Settle()
      .Expect("Running; 1 Ended L1 (NodeLost); 2 Staging L2; L1 lost; ended m1")
      .See(After(60))
      .Settle()
      .Expect("Running; 1 Ended L1 (NodeLost); 2 Staging L2; sent L2");
}

// No room after all: another place is asked at once.
TEST(EndedBy, WhatWasRefusedLateNobodyHasEnded) {
  Story s;
  s.seen.places[0].tells_ender = true;
  Offer a, b;
  a.ask.place = {"local", "", "", "a"};
  b.ask.place = {"local", "", "", "b"};
  b.rank = 1;
  s.job.offers = {a, b};
  Refusal full;
  full.what = RefusalClass::kCapacity;
  full.message = "no room";
  s.Pass().See(DiesAtBirth(1, full)).Settle();
  EXPECT_EQ(s.sent, (std::vector<std::string>{"L1", "L2"}));
}

// What only stops costs nobody a cancel, and its successor no time.
TEST(EndedBy, OneThatStopsIsNotEnded) {
  AtAPlaceThatTells()
      .See(ShutsDown(1, 0))
      .Settle()
      .See([](Story& t) { t.Machine(1).state = MachineState::kStopped; })
      .Pass()
      .Expect("Running; 1 Draining L1; 2 Provisioning L2; sent L2");
}

}  // namespace
}  // namespace stoker::story
