// SPDX-License-Identifier: Apache-2.0
// A node from its claim to its end, and how it is told to stop.
#include <gtest/gtest.h>

#include "agent/supervisor.h"
#include "test/kit/node.h"

namespace stoker::node {
namespace {

// ---- the straight way ----

TEST(SupervisorTest, FromWaitingToCompletedAndOff) {
  Node n;
  n.Reads().Does("").Reads(Opens(1, {kLaunch})).Does("publish; hurry").Shows("waiting 1-0 Waiting");
  n.Reads(Begins(1, "0-4")).Does("claim 1-0");
  n.On(ClaimAnswered{1, ClaimOutcome::kWon, {}}).Does("publish; stage 1-0 from 0-4");
  n.On(Staged(1)).Does("publish; start 1-0 127.0.0.2:29500");
  n.On(ProgramStarted{}).Does("publish; hurry");
  n.Exits(0).Does("kill; finalize started").Shows("finalizing 1-0 Stopping Completed");
  n.On(Finalized{1}).Does("publish; hurry").Shows("ended 1-0 Ended Completed");
  n.Reads().Does("").Reads(Finishes()).Does("off");
  n.Reads().Does("");
}

TEST(SupervisorTest, ClaimsAtOnceWhenTheAttemptHasBegun) { Claiming(); }

TEST(SupervisorTest, AnotherMachinesClaimEndsThisOne) {
  Node n = Claiming();
  n.On(ClaimAnswered{1, ClaimOutcome::kOther, {}}).Does("off");
  EXPECT_FALSE(n.supervisor->publishes());
}

TEST(SupervisorTest, DoesNotPublishWhileTheSlotMayBeAnothers) {
  Node n;
  EXPECT_FALSE(n.supervisor->publishes());
  n.Notice(60).Does("");
  n.Reads(Opens(1, {kLaunch}));
  EXPECT_TRUE(n.supervisor->publishes());
  n.Reads(Begins(1));
  EXPECT_FALSE(n.supervisor->publishes());
  n.Forget().On(ClaimAnswered{1, ClaimOutcome::kWon, {}}).Does("publish; stage 1-0; hurry");
  EXPECT_TRUE(n.supervisor->publishes());
}

TEST(SupervisorTest, AnOlderRecordIsNotBelieved) {
  Node n = Running();
  const Job before = n.job;
  n.Reads(Stops(1, EndReason::kCancelled)).Does("term; publish");
  n.On(RecordRead{before}).Shows("stopping 1-0 Stopping");
}

// ---- the barrier ----

TEST(SupervisorTest, TheProgramStartsWhenEveryNodeIsReady) {
  struct Row {
    NodeReport peer;
    bool starts;
  };
  NodeReport other_launch = Peer(NodePhase::kReady);
  other_launch.launch = 7;
  NodeReport other_attempt = Peer(NodePhase::kReady);
  other_attempt.attempt = 2;
  NodeReport no_address = Peer(NodePhase::kReady);
  no_address.address.clear();
  NodeReport odd_rank = Peer(NodePhase::kReady);
  odd_rank.rank = -5;
  for (const Row& row :
       {Row{Peer(NodePhase::kWaiting), false}, Row{Peer(NodePhase::kStaging), false},
        Row{Peer(NodePhase::kReady), true}, Row{Peer(NodePhase::kRunning), true},
        Row{Peer(NodePhase::kEnded, EndReason::kCompleted), true},
        Row{Peer(NodePhase::kStopping, EndReason::kUserError), false},
        Row{Peer(NodePhase::kEnded, EndReason::kInterrupted), false}, Row{other_launch, false},
        Row{other_attempt, false}, Row{no_address, false}, Row{odd_rank, false}}) {
    Node n = Staging({kLaunch, 2});
    n.On(Staged(1)).Does("publish").On(ReportsRead{{row.peer}});
    n.Does(row.starts ? "start 1-0 127.0.0.2,127.0.0.3:29500" : "");
  }
}

// Seed 141454 of the simulator: an agent stood still for minutes, and its attempt was over.
TEST(SupervisorTest, NothingStartsOnARecordOfLongAgo) {
  Node n = Staging({kLaunch});
  n.ms += 60'000;
  n.On(Staged(1)).Does("publish; hurry");
  // Read before it stood still, and handled after.
  n.On(RecordRead{n.job, Instant{MonoTime{n.ms - 50'000}, WallTime{1'700'000'000'000 + n.ms}}});
  n.On(ReportsRead{}).Does("hurry");
  // The machine was asleep: one of its clocks was, too.
  n.On(RecordRead{n.job, Instant{MonoTime{n.ms}, WallTime{1'700'000'000'000 + n.ms - 50'000}}});
  n.On(ReportsRead{}).Does("hurry");
  n.Reads().On(ReportsRead{}).Does("start 1-0 127.0.0.2:29500");
}

// Seed 4000117480 of the simulator: its first report was on its way for fifteen seconds, and its
// launch was given up as that of a machine which never came.
TEST(SupervisorTest, NothingStartsBeforeTheRecordWasReadWithItsReportInTheStore) {
  Node n;
  Opens(1, {kLaunch}, AttemptState::kStaging)(n.job);
  const auto reads = [&](bool told) {
    ++n.job.rev;
    n.On(RecordRead{n.job, {}, {}, told});
  };
  reads(false);
  n.On(ClaimAnswered{1, ClaimOutcome::kWon, {}}).On(Staged(1)).Forget();
  reads(false);
  n.On(ReportsRead{}).Does("");
  reads(true);
  n.On(ReportsRead{}).Does("start 1-0 127.0.0.2:29500");
}

TEST(SupervisorTest, OthersTakeThePortOfRankZero) {
  Node n;
  n.job.launches.push_back({});
  n.Reads(Opens(1, {2, kLaunch}, AttemptState::kStaging)).Does("claim 1-1");
  n.On(ClaimAnswered{1, ClaimOutcome::kWon, {}}).On(Staged(1, 5)).Forget();
  NodeReport zero = Peer(NodePhase::kReady);
  zero.rank = 0;
  n.On(ReportsRead{{zero}}).Does("start 1-1 127.0.0.3,127.0.0.2:31000");
}

TEST(SupervisorTest, ReadyButToldToStop) {
  Node n = Staging({kLaunch, 2});
  n.On(Staged(1)).Forget().Reads(Stops(1, EndReason::kUserError)).Does("finalize");
  n.On(Finalized{1}).Shows("ended 1-0 Ended Cancelled stopped");
}

// ---- how a program ends ----

struct ExitRow {
  std::string name;
  std::function<void(Node&)> before;
  TaskExit exit;
  std::string does;
  std::optional<bool> taken;  // the answer to CheckEnd
  std::string shows;
};

TEST(SupervisorTest, HowAProgramEnds) {
  const auto nothing = [](Node&) {};
  const auto notice = [](Node& n) { n.Notice(120); };
  const auto told = [](Node& n) { n.Reads(Stops(1, EndReason::kNodeLost)); };
  const auto deadline = [](Node& n) { n.Notice(120).After(96); };
  const auto asked = [](Node& n) { n.Notice(120).On(ProgramSignalled{}); };
  const auto withdrawn = [](Node& n) {
    n.Notice(120).On(ProgramSignalled{}).On(NoticeRead{std::nullopt});
  };
  for (const ExitRow& row : std::vector<ExitRow>{
           {"exit 0", nothing, {0, 0, false}, "kill; finalize started", {}, "Completed"},
           {"failure", nothing, {3, 0, false}, "kill; check", false, "UserError 3 checked"},
           {"failure of a machine that is taken",
            nothing,
            {3, 0, false},
            "kill; check",
            true,
            "Interrupted 3"},
           {"killed", nothing, {0, 9, false}, "kill; check", false, "UserError checked"},
           {"exit 0 under a notice",
            notice,
            {0, 0, false},
            "kill; finalize started by deadline",
            {},
            "Completed"},
           {"failure under a notice",
            notice,
            {1, 0, false},
            "kill; publish; hurry; finalize started by deadline",
            {},
            "Interrupted 1"},
           {"exit 0 after SIGTERM because of a notice",
            deadline,
            {0, 0, false},
            "kill; publish; hurry; finalize started signalled by deadline",
            {},
            "Interrupted"},
           {"exit 0 after checkpoints.signal because of a notice",
            asked,
            {0, 0, false},
            "kill; publish; hurry; finalize started signalled by deadline",
            {},
            "Interrupted"},
           {"exit 0 after checkpoints.signal because of a notice that was withdrawn",
            withdrawn,
            {0, 0, false},
            "kill; finalize started",
            {},
            "Completed"},
           {"exit 0 after SIGTERM because told",
            told,
            {0, 0, false},
            "kill; finalize started signalled",
            {},
            "Cancelled stopped"},
           {"failure after SIGTERM because told",
            told,
            {1, 0, false},
            "kill; finalize started signalled",
            {},
            "Cancelled 1 stopped"}}) {
    SCOPED_TRACE(row.name);
    Node n = Running();
    row.before(n);
    n.Forget().Exits(row.exit.exit_code, row.exit.signal).Does(row.does);
    if (row.taken) n.On(EndChecked{*row.taken}).Does("publish; hurry; finalize started");
    n.On(Finalized{1}).Does("publish; hurry").Shows("ended 1-0 Ended " + row.shows);
  }
}

TEST(SupervisorTest, ASigtermForANoticeThatWasWithdrawnIsNoEndOfTheWork) {
  Node n = Running();
  n.Notice(120).On(ProgramSignalled{true}).On(NoticeRead{std::nullopt});
  n.Forget().Exits(0).Does("kill; check").On(EndChecked{false}).On(Finalized{1});
  n.Shows("ended 1-0 Ended Interrupted checked");
}

TEST(SupervisorTest, WhatIsSentToWhatItLeftBehindIsNoEndOfTheProgram) {
  TaskExit good;
  good.untold = true;
  TaskExit bad = good;
  bad.exit_code = 1;
  Node n = Running();
  n.Notice(120).After(96).Forget().On(ProgramEnded{good});
  n.Does("kill; finalize started by deadline").On(Finalized{1}).Shows("ended 1-0 Ended Completed");
  Node told = Running();
  told.Reads(Stops(1, EndReason::kNodeLost)).Forget().On(ProgramEnded{good});
  told.Does("kill; finalize started").On(Finalized{1});
  told.Shows("ended 1-0 Ended Completed stopped");
  Node failed = Running();
  failed.Notice(120).After(96).Forget().On(ProgramEnded{bad}).On(Finalized{1});
  failed.Shows("ended 1-0 Ended Interrupted 1");
  Node all = Running();  // its platform has signalled it, the program too
  all.Notice(120).On(ProgramSignalled{true}).Forget().On(ProgramEnded{good}).On(Finalized{1});
  all.Shows("ended 1-0 Ended Interrupted");
}

TEST(SupervisorTest, AProgramThatDiesWithItsShimIsNotToBlame) {
  Node n = Running();
  n.GoesUnwatched().On(EndChecked{false});
  EXPECT_EQ(n.supervisor->report().end->reason, EndReason::kNodeFault);
  Node full = Running();
  full.GoesUnwatched(true).On(EndChecked{false});
  EXPECT_EQ(full.supervisor->report().end->reason, EndReason::kUserError);
}

TEST(SupervisorTest, OutOfMemoryIsSaid) {
  Node n = Running();
  n.Exits(0, 9, true).On(EndChecked{false});
  EXPECT_TRUE(n.supervisor->report().end->out_of_memory);
  EXPECT_EQ(n.supervisor->report().end->signal, 9);
  EXPECT_EQ(n.supervisor->report().end->reason, EndReason::kUserError);
}

TEST(SupervisorTest, ASignalThatNobodyHereSentIsSaid) {
  TaskExit killed{0, 9}, segfault{0, 11}, shell{137, 0}, term{0, 15}, own{0, 10}, code{3, 0};
  killed.memory_short = true;
  own.ours = true;
  for (const auto& [exit, why] :
       {std::pair(killed, "killed by signal 9, not by stoker; memory may have run out"),
        std::pair(term, "killed by signal 15, not by stoker"),
        std::pair(segfault, "killed by signal 11 (segmentation fault), not by stoker"),
        std::pair(shell,
                  "the program ended with exit code 137, as a shell says of what signal 9 "
                  "killed"),
        std::pair(own, "the program was ended by signal 10, which stoker had sent"),
        std::pair(code, "the program ended with exit code 3")}) {
    Node n = Running();
    n.On(ProgramEnded{exit}).On(EndChecked{false});
    EXPECT_EQ(n.supervisor->report().end->reason, EndReason::kUserError);
    EXPECT_EQ(n.supervisor->report().end->why, why);
  }
  // A host that shuts down sends signals, too, and tells its services in its own time.
  Node n = Running();
  n.On(ProgramEnded{term}).On(EndChecked{true});
  EXPECT_EQ(n.supervisor->report().end->reason, EndReason::kInterrupted);
}

TEST(SupervisorTest, ANoticeThatComesWhileTheEndIsCheckedCounts) {
  Node n = Running();
  n.Exits(1).Notice(30).Forget().On(EndChecked{false});
  n.Does("publish; hurry; finalize started by deadline");
  n.Shows("finalizing 1-0 Stopping Interrupted 1 checked");
}

TEST(SupervisorTest, AProgramThatIsOverBeforeItsStartWasSaid) {
  Node n = Staging();
  n.On(Staged(1)).Forget().Exits(0).Does("");
  n.On(ProgramStarted{}).Does("publish; hurry; kill; finalize started");
  n.On(Finalized{1}).Shows("ended 1-0 Ended Completed");
}

TEST(SupervisorTest, AProgramThatCannotBeStarted) {
  struct Row {
    Code code;
    std::string shows;
  };
  for (const Row& row :
       {Row{Code::kNotFound, "UserError 127 checked"}, Row{Code::kDenied, "UserError 126 checked"},
        Row{Code::kInvalid, "UserError 127 checked"}, Row{Code::kNoSpace, "NodeFault checked"}}) {
    Node n = Staging();
    n.On(Staged(1)).Forget().On(ProgramStarted{Status(row.code, "no")});
    n.Does("publish; hurry; finalize");
    n.On(Finalized{1}).Shows("ended 1-0 Ended " + row.shows);
  }
}

// ---- told to stop ----

TEST(SupervisorTest, TermGraceKill) {
  Node n = Running();
  n.Reads(Stops(1, EndReason::kCancelled)).Does("term; publish");
  EXPECT_EQ(n.WakesIn(), 30'000);
  n.After(29).Does("").After(1).Does("kill");
  n.Exits(0, 9).Does("kill; finalize started signalled");
}

TEST(SupervisorTest, EveryWayOfBeingToldToStop) {
  const std::vector<std::function<void(Job&)>> ways = {Stops(1, EndReason::kNodeLost),
                                                       Ends(1),
                                                       Closes(),
                                                       Finishes(),
                                                       [](Job& job) { job.attempts.clear(); },
                                                       [](Job& job) { job.launches.clear(); }};
  for (const auto& way : ways) {
    Node n = Running();
    n.Reads(way).Does("term; publish");
  }
}

TEST(SupervisorTest, SignalsThatCameBeforeTheProcessAreSentAgain) {
  Node n = Staging();
  n.On(Staged(1)).Reads(Stops(1, EndReason::kCancelled)).Forget();
  n.On(ProgramStarted{}).Does("term");
  n = Staging();
  n.On(Staged(1)).Reads(Stops(1, EndReason::kCancelled)).After(31).Forget();
  n.On(ProgramStarted{}).Does("kill");
}

TEST(SupervisorTest, StagingIsCancelled) {
  Node n = Staging();
  n.Reads(Stops(1, EndReason::kCancelled)).Does("cancel staging").Reads().Does("");
  StagingEnded cancelled = Staged(1);
  cancelled.status = Status(Code::kCancelled, "cancelled");
  n.On(cancelled).Does("finalize").On(Finalized{1}).Shows("ended 1-0 Ended Cancelled stopped");
}

TEST(SupervisorTest, ToldToStopBetweenWaitingAndClaimStillTellsItsEnd) {
  Node n;
  n.Reads(Opens(1, {kLaunch})).Forget();
  n.Reads([](Job& job) {
    Begins(1)(job);
    Stops(1, EndReason::kNodeLost)(job);
  });
  n.Does("claim 1-0").On(ClaimAnswered{1, ClaimOutcome::kWon, {}}).Does("finalize");
  n.On(Finalized{1}).Shows("ended 1-0 Ended Cancelled stopped");
}

TEST(SupervisorTest, ToldToStopWhileTheClaimIsUnderWay) {
  Node n = Claiming();
  n.Reads(Closes()).Does("").On(ClaimAnswered{1, ClaimOutcome::kWon, {}}).Does("finalize");
  n.On(Finalized{1}).Does("publish; hurry").Reads().Does("off");
}

TEST(SupervisorTest, SetupThatFails) {
  StagingEnded failed = Staged(1);
  failed.status = Status(Code::kInvalid, "setup: exit code 4");
  failed.setup_failed = true;
  failed.setup_code = 4;
  Node n = Staging();
  n.On(failed).Does("check").On(EndChecked{false}).Does("publish; hurry; finalize");
  n.On(Finalized{1}).Shows("ended 1-0 Ended UserError 4 checked");
  n = Staging();
  n.On(failed).On(EndChecked{true}).On(Finalized{1}).Shows("ended 1-0 Ended Interrupted 4");
}

TEST(SupervisorTest, StagingThatFailsIsTheNodesFaultAndSaysWhatCouldNotBeRestored) {
  StagingEnded failed = Staged(1);
  failed.status = Status(Code::kCorrupt, "model.pt: wrong digest");
  failed.restored = "1-3";
  failed.restore_error = "model.pt: wrong digest";
  Node n = Staging();
  n.On(failed).On(Finalized{1}).Shows("ended 1-0 Ended NodeFault");
  EXPECT_EQ(n.supervisor->report().restore_error, "model.pt: wrong digest");
}

}  // namespace
}  // namespace stoker::node
