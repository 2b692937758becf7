// SPDX-License-Identifier: Apache-2.0
// A node under notices and limits, started again, and from one attempt to the next.
#include <gtest/gtest.h>

#include "agent/supervisor.h"
#include "test/kit/node.h"

namespace stoker::node {
namespace {

// ---- notices ----

TEST(SupervisorTest, ALongNoticeIsUsedForTraining) {
  Node n = Running();
  n.Notice(120).Does("publish; hurry; ask for checkpoint").Shows("running 1-0 Draining");
  EXPECT_EQ(n.WakesIn(), 95'000);
  n.After(94).Does("").After(1).Does("term; publish");
  // Killed in time to leave the uploads what the plan leaves them, whatever the grace.
  EXPECT_EQ(n.WakesIn(), 25'000 - 16'666);
  n.After(9).Does("kill").Exits(0, 9);
  n.Does("kill; publish; hurry; finalize started signalled by deadline");
}

TEST(SupervisorTest, AProgramThatSavesAtSigtermHasTheTimeForIt) {
  Node n = Running();
  const Saving saving{true, false, Duration::Seconds(40), Duration::Seconds(4)};
  n.On(SavingSeen{saving}).Notice(120).Forget();
  EXPECT_EQ(n.WakesIn(), 71'000);
  n.After(71).Does("term; publish");
  EXPECT_EQ(n.WakesIn(), 45'000) << "more than stop_grace";
  n.After(45).Does("kill");
  // Known a moment later, as of a move.
  Node late = Running();
  late.Notice(120).On(SavingSeen{saving});
  EXPECT_EQ(late.WakesIn(), 71'000);
}

TEST(SupervisorTest, AJobThatEndedAtSigtermWithoutASaveIsKnownAsSuch) {
  Node n = Running();
  EXPECT_FALSE(n.supervisor->ended_unsaved());
  n.Reads([](Job& job) {
    Attempt before = job.attempts.front();
    before.number = 0;
    before.state = AttemptState::kEnded;
    before.unsaved_at_term = true;
    job.attempts.insert(job.attempts.begin(), before);
  });
  EXPECT_TRUE(n.supervisor->ended_unsaved());
}

TEST(SupervisorTest, AZeroSecondNotice) {
  Node n = Running();
  n.Notice(0).Does("publish; hurry; ask for checkpoint; term; publish; kill");
  n.Exits(0, 9).On(Finalized{1}).Shows("ended 1-0 Ended Interrupted");
}

TEST(SupervisorTest, AWithdrawnNotice) {
  Node n = Running();
  n.Notice(120).Forget().On(NoticeRead{}).Does("publish; hurry").Shows("running 1-0 Running");
  EXPECT_EQ(n.WakesIn(), std::nullopt);
  n.After(200).Does("");
}

TEST(SupervisorTest, ANoticeWhileTheProgramHasItsGraceShortensIt) {
  SupervisorConfig config;
  config.stop_grace = Duration::Seconds(300);
  Node n = Running(config);
  n.Reads(Stops(1, EndReason::kCancelled)).Notice(30).Forget();
  EXPECT_EQ(n.WakesIn(), 25'000);
  n.After(25).Does("kill");
}

// Whatever it waits for, the store among it, a node that has read a cancel is gone in time.
TEST(SupervisorTest, ACancelIsObeyedInTimeWithAStoreOrWithout) {
  const auto cancelled = [](Job& job) {
    job.cancel = CancelRequest{};
    Stops(1, EndReason::kCancelled)(job);
  };
  Node n = Running();
  EXPECT_EQ(n.supervisor->saves_until(), std::nullopt);
  n.Reads(cancelled).Does("term; publish");
  const MonoTime by{n.ms + 30'000};  // its grace
  EXPECT_EQ(n.supervisor->saves_until(), by + kSaveAfterCancel);
  n.After(1).Exits(0, 15).Does("kill; finalize started signalled");
  EXPECT_EQ(n.WakesIn(), 29'000 + kLeaveAfterCancel.ms);
  n.After(100).Reads();  // again, which is no new cancel
  n.After(48).Does("").After(1).Does("off");

  Node stuck = Staging();
  stuck.Reads(cancelled).Does("cancel staging").After(149).Does("").After(1).Does("off");
}

// ---- nobody takes note of its end ----

NodeReport PeerAtWork(int64_t seq) {
  NodeReport peer;
  peer.attempt = 1;
  peer.rank = 1;
  peer.phase = NodePhase::kRunning;
  peer.seq = seq;
  return peer;
}

class UnnotedEnd : public testing::Test {
 protected:
  UnnotedEnd() {
    n_.Exits(0).On(Finalized{1}).Shows("ended 1-0 Ended Completed");
    n_.Forget();
  }
  // So many minutes, in which it reads the record and the reports twice a minute.
  void Looks(int minutes, std::vector<NodeReport> others = {}) {
    for (int i = 0; i < minutes * 2; ++i) {
      std::vector<NodeReport> all = others;
      all.push_back(n_.supervisor->report());
      for (NodeReport& other : others) ++other.seq;
      n_.After(30).On(RecordRead{n_.job}).On(ReportsRead{all});
    }
  }
  Node n_ = Running();
};

TEST_F(UnnotedEnd, EndsItsMachine) {
  Looks(15);
  n_.Does("");
  Looks(1);
  n_.Does("off");
}

TEST_F(UnnotedEnd, IsWaitedWithWhileARecordMoves) {
  Looks(14);
  n_.Reads([](Job& job) { job.cancel = CancelRequest{}; });
  n_.Forget();
  Looks(1);
  EXPECT_EQ(n_.supervisor->phase(), AgentPhase::kEnded);
}

TEST_F(UnnotedEnd, IsWaitedWithWhileAPeerWorks) {
  Looks(40, {PeerAtWork(1)});
  n_.Does("");
  Looks(16);
  n_.Does("off");
}

// Whoever would take note of it may have been cut off as well.
TEST_F(UnnotedEnd, IsWaitedWithAfterAnOutage) {
  Looks(10);
  n_.After(3600).Does("");
  Looks(14);
  n_.Does("");
  Looks(2);
  n_.Does("off");
}

TEST_F(UnnotedEnd, ThatIsNotInTheStoreIsNone) {
  for (int i = 0; i < 100; ++i) n_.After(30).On(RecordRead{n_.job}).On(ReportsRead{});
  n_.Does("");
}

// ---- nobody looks, and nodes may not ----

class Unwatched : public testing::Test {
 protected:
  static SupervisorConfig LeftToOthers() {
    SupervisorConfig config;
    config.left_to_others = true;
    return config;
  }
  // So many minutes, in which it reads the record twice a minute.
  static void Looks(Node& n, int minutes) {
    for (int i = 0; i < minutes * 2; ++i) n.After(30).On(RecordRead{n.job});
  }
};

TEST_F(Unwatched, AnIdleNodeEndsItsMachine) {
  Node n(LeftToOthers());
  n.Reads().Shows("idle 0-0 Waiting");
  Looks(n, 59);
  n.Does("");
  Looks(n, 1);
  n.Does("off");
}

TEST_F(Unwatched, OneWhoseAttemptHasNotBegunDoes) {
  Node n(LeftToOthers());
  n.Reads(Opens(1, {kLaunch, 2})).Does("publish; hurry").Shows("waiting 1-0 Waiting");
  Looks(n, 59);
  n.Does("");
  Looks(n, 1);
  n.Does("off");
}

TEST_F(Unwatched, OneIsNotWhileAnybodyMovesTheRecord) {
  Node n(LeftToOthers());
  n.Reads(Opens(1, {kLaunch, 2})).Forget();
  for (int hour = 0; hour < 5; ++hour) {
    Looks(n, 59);
    n.Reads([](Job& job) { job.attempts[0].launches[1]++; });
  }
  n.Does("");
  n.Reads(Begins(1)).Does("claim 1-0");
  Looks(n, 120);
  n.Does("");  // whoever works is not meant
}

TEST_F(Unwatched, OneIsNotWhoseStoreWasAway) {
  Node n(LeftToOthers());
  n.Reads(Opens(1, {kLaunch})).Forget();
  Looks(n, 50);
  n.After(3600).Does("");
  Looks(n, 59);
  n.Does("");
  Looks(n, 2);
  n.Does("off");
}

TEST_F(Unwatched, ANodeThatLooksAfterItsJobStays) {
  Node n;
  n.Reads(Opens(1, {kLaunch, 2})).Forget();
  Looks(n, 48 * 60);
  n.Does("").Shows("waiting 1-0 Waiting");
}

TEST(SupervisorTest, ANoticeWhileStagingOrReady) {
  Node n = Staging();
  n.Notice(40).Does("publish; hurry");
  EXPECT_EQ(n.WakesIn(), 30'000);
  n.After(30).Does("cancel staging");
  n.On(Staged(1))
      .Does("publish; hurry; finalize by deadline")
      .On(Finalized{1})
      .Shows("ended 1-0 Ended Interrupted");

  n = Staging({kLaunch, 2});
  n.On(Staged(1)).Notice(40).Forget();
  EXPECT_EQ(n.WakesIn(), 30'000);
  n.After(30)
      .Does("publish; hurry; finalize by deadline")
      .On(Finalized{1})
      .Shows("ended 1-0 Ended Interrupted");
}

TEST(SupervisorTest, NothingIsStartedThatWouldHaveToStopAtOnce) {
  Node n = Staging();
  n.Notice(0).Does("publish; hurry; cancel staging");
  n = Staging({kLaunch, 2});
  n.On(Staged(1)).Forget();
  n.ms += 1000;
  n.Notice(0).Does("publish; hurry; publish; hurry; finalize by deadline");
}

// ---- limits ----

TEST(SupervisorTest, MaxDurationCountsEarlierAttempts) {
  SupervisorConfig config;
  config.max_duration = Duration::Seconds(100);
  Node n(config);
  Opens(1, {9}, AttemptState::kEnded)(n.job);
  n.job.attempts[0].run_ms = 70'000;
  n.Reads(Opens(2, {kLaunch}, AttemptState::kStaging));
  n.On(ClaimAnswered{2, ClaimOutcome::kWon, {}}).On(Staged(2)).On(ProgramStarted{}).Forget();
  EXPECT_EQ(n.WakesIn(), 30'000);
  n.After(29).Does("").After(1).Does("term; publish").Exits(0, 15).On(Finalized{2});
  n.Shows("ended 2-0 Ended TimedOut");
}

TEST(SupervisorTest, StallIsFromTheLastSignOfLife) {
  SupervisorConfig config;
  config.stall = Duration::Seconds(60);
  Node n = Running(config);
  n.After(50).On(Activity{}).After(59).Does("");
  EXPECT_EQ(n.WakesIn(), 1'000);
  n.After(1).Does("term; publish").Exits(143).On(Finalized{1});
  n.Shows("ended 1-0 Ended StoppedByRule 143");
}

TEST(SupervisorTest, ABrokenRuleEndsTheRunWithItsNumbers) {
  Node n = Running();
  n.On(RuleBroken{2, "of another attempt"}).Does("");
  n.On(RuleBroken{1, "loss is not finite: nan at step 7"}).Does("term; publish");
  n.On(RuleBroken{1, "a second one"}).Does("");
  n.Exits(0).Does("kill; publish; hurry; finalize started signalled").On(Finalized{1});
  n.Shows("ended 1-0 Ended StoppedByRule");
  EXPECT_EQ(n.supervisor->report().end->why, "loss is not finite: nan at step 7");
}

TEST(SupervisorTest, ARuleThatIsBrokenTooLateChangesNothing) {
  Node n = Running();
  n.Exits(0).On(RuleBroken{1, "late"}).On(Finalized{1}).Shows("ended 1-0 Ended Completed");
  Node told = Running();
  told.Reads(Stops(1, EndReason::kNodeLost)).On(RuleBroken{1, "late"}).Exits(0, 15);
  told.On(Finalized{1}).Shows("ended 1-0 Ended Cancelled stopped");
}

// ---- a restarted agent ----

TEST(SupervisorTest, ARestartedAgentBeginsNoProgramInTheOldAttempt) {
  NodeReport previous;
  previous.attempt = 1;
  previous.phase = NodePhase::kRunning;
  previous.restored = "1-2";
  previous.run_ms = 7'000;
  Node n = Claiming();
  n.On(ClaimAnswered{1, ClaimOutcome::kOursBefore, previous}).Does("publish; hurry; finalize");
  n.On(Finalized{1}).Shows("ended 1-0 Ended NodeLost");
  EXPECT_EQ(n.supervisor->report().run_ms, 7'000);
  Node without = Claiming();
  without.On(ClaimAnswered{1, ClaimOutcome::kOursBefore, {}}).Does("publish; hurry; finalize");
  without.On(Finalized{1}).Shows("ended 1-0 Ended NodeLost");
}

TEST(SupervisorTest, ARestartedAgentKeepsAnEndThatWasJudged) {
  NodeReport previous;
  previous.attempt = 1;
  previous.phase = NodePhase::kStopping;
  previous.run_ms = 7'000;
  previous.end_checked = true;
  previous.end = Ending{EndReason::kUserError, 3, 0, false, -1, "exit code 3"};
  Node n = Claiming();
  n.On(ClaimAnswered{1, ClaimOutcome::kOursBefore, previous})
      .Does("publish; hurry; finalize started");
  n.On(Finalized{1}).Shows("ended 1-0 Ended UserError 3 checked");

  previous.end = Ending{EndReason::kCancelled, 0, 15, false, -1, "told"};
  previous.stopped = true;
  Node told = Claiming();
  told.On(ClaimAnswered{1, ClaimOutcome::kOursBefore, previous}).Does("finalize started signalled");
  told.On(Finalized{1}).Shows("ended 1-0 Ended Cancelled stopped checked");
}

TEST(SupervisorTest, ARestartedAgentTakesCompletedOnlyWhenAllWasUploaded) {
  NodeReport previous;
  previous.attempt = 1;
  previous.phase = NodePhase::kEnded;
  previous.end = Ending{EndReason::kCompleted, 0, 0, false, -1, "exit code 0"};
  Node n = Claiming();
  n.On(ClaimAnswered{1, ClaimOutcome::kOursBefore, previous}).Does("finalize started");
  n.On(Finalized{1}).Shows("ended 1-0 Ended Completed");
  previous.phase = NodePhase::kStopping;
  Node cut = Claiming();
  cut.On(ClaimAnswered{1, ClaimOutcome::kOursBefore, previous}).On(Finalized{1});
  cut.Shows("ended 1-0 Ended NodeLost");
  EXPECT_EQ(cut.supervisor->report().end->why,
            "the program had ended well, but the agent died before all that it left was saved");
}

TEST(SupervisorTest, ARestartedAgentDoesNotMakeANoticeLookWithdrawn) {
  NodeReport previous;
  previous.attempt = 1;
  previous.notice = Notice{"terminate", WallTime{1'700'000'060'000}};
  Node n = Claiming();
  n.On(ClaimAnswered{1, ClaimOutcome::kOursBefore, previous});
  EXPECT_TRUE(n.supervisor->report().notice.has_value());
  n.On(NoticeRead{});
  EXPECT_FALSE(n.supervisor->report().notice.has_value());
}

// What its platform had said is done; nothing would ever withdraw it.
TEST(SupervisorTest, AMachineThatWasDownForgetsItsNotice) {
  NodeReport previous;
  previous.attempt = 1;
  previous.notice = Notice{"stop", WallTime{1'700'000'060'000}};
  Node n = Claiming();
  n.On(ClaimAnswered{1, ClaimOutcome::kOursBefore, previous, true});
  EXPECT_FALSE(n.supervisor->report().notice.has_value());
  n.On(Finalized{1}).Shows("ended 1-0 Ended Interrupted");
  previous.notice.reset();
  Node untold = Claiming();
  untold.On(ClaimAnswered{1, ClaimOutcome::kOursBefore, previous, true}).On(Finalized{1});
  untold.Shows("ended 1-0 Ended NodeLost");
}

// ---- from one attempt to the next ----

TEST(SupervisorTest, StaysWithItsEndUntilTheRecordHasTakenNoteOfIt) {
  Node n = Running();
  n.Exits(0).On(Finalized{1}).Forget();
  n.Reads(Opens(2, {kLaunch})).Does("").Shows("ended 1-0 Ended Completed");
  n.Reads(Ends(1)).Does("publish; hurry").Shows("waiting 2-0 Waiting");
}

TEST(SupervisorTest, ASurvivorGoesOnInPlaceAndRemembersNothing) {
  Node n = Running();
  n.Reads(Stops(1, EndReason::kInterrupted)).Exits(0, 15).On(Finalized{1}).Forget();
  n.Reads([](Job& job) {
    Ends(1)(job);
    job.attempts[0].run_ms = 1;
    Opens(2, {8, kLaunch}, AttemptState::kStaging)(job);
  });
  n.Does("claim 2-1").On(ClaimAnswered{2, ClaimOutcome::kWon, {}}).Does("publish; stage 2-1");
  n.Shows("staging 2-1 Staging");
}

TEST(SupervisorTest, ReplacedWhileWaiting) {
  Node n;
  n.Reads(Opens(1, {kLaunch})).Forget();
  n.Reads([](Job& job) { job.attempts[0].launches = {5}; }).Does("").Shows("idle 1-0 Waiting");
  EXPECT_FALSE(n.supervisor->publishes());
  n.Reads(Closes()).Does("off");
  Node closed;
  closed.Reads(Opens(1, {kLaunch})).Forget().Reads(Closes()).Does("off");
}

TEST(SupervisorTest, AnAttemptThatIsNotNeededIsLeftForTheNext) {
  Node n;
  n.Reads(Opens(2, {kLaunch})).Forget();
  n.Reads([](Job& job) {
    Ends(2)(job);
    Opens(3, {kLaunch})(job);
  });
  n.Does("publish; hurry").Shows("waiting 3-0 Waiting");
}

TEST(SupervisorTest, AnswersOfAnotherAttemptAreNotTaken) {
  Node n = Claiming();
  n.On(ClaimAnswered{9, ClaimOutcome::kWon, {}}).Does("");
  n.On(ClaimAnswered{1, ClaimOutcome::kWon, {}}).Forget().On(Staged(9)).Does("");
  n.On(Finalized{1}).On(EndChecked{}).On(ProgramEnded{}).On(ProgramStarted{}).Does("");
  n.Shows("staging 1-0 Staging");
}

}  // namespace
}  // namespace stoker::node
