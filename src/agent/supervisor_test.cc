// SPDX-License-Identifier: Apache-2.0
// One node, driven by hand, in three verbs: On() states what happened, Does() compares the actions
// with one line of text, Shows() compares the phase and the report.
#include "agent/supervisor.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace stoker {
namespace {

constexpr int kLaunch = 1;

struct Words {
  std::string operator()(const ClaimSlot& a) const { return "claim " + Of(a.attempt, a.rank); }
  std::string operator()(const StageNode& a) const {
    return "stage " + Of(a.attempt, a.rank) + (a.restore.empty() ? "" : " from " + a.restore);
  }
  std::string operator()(const CancelStaging&) const { return "cancel staging"; }
  std::string operator()(const StartProgram& a) const {
    return "start " + Of(a.attempt, a.rank) + " " + Join(a.addresses, ",") + ":" +
           std::to_string(a.master_port);
  }
  std::string operator()(const AskForCheckpoint&) const { return "ask for checkpoint"; }
  std::string operator()(const TerminateProgram&) const { return "term"; }
  std::string operator()(const KillProgram&) const { return "kill"; }
  std::string operator()(const CheckEnd&) const { return "check"; }
  std::string operator()(const FinalizeAttempt& a) const {
    return std::string("finalize") + (a.started ? " started" : "") +
           (a.signalled ? " signalled" : "") + (a.deadline ? " by deadline" : "");
  }
  std::string operator()(const Publish&) const { return "publish"; }
  std::string operator()(const Hurry&) const { return "hurry"; }
  std::string operator()(const PowerOff&) const { return "off"; }
  static std::string Of(int attempt, int rank) {
    return std::to_string(attempt) + "-" + std::to_string(rank);
  }
};

class Node {
 public:
  explicit Node(SupervisorConfig c = {}) : config(std::move(c)) {
    config.job = "j";
    config.launch = kLaunch;
    config.instance_id = "i";
    config.address = "127.0.0.2";
    supervisor.emplace(config);
    job.id = "j";
    job.launches.resize(1);
    job.launches[0].number = kLaunch;
  }

  Node& After(int64_t seconds) {
    ms += seconds * 1000;
    return On(Tick{});
  }
  Node& On(const AgentEvent& event) {
    const Instant now{MonoTime{ms}, WallTime{1'700'000'000'000 + ms}};
    for (const AgentAction& action : supervisor->Step(event, now)) {
      done.push_back(std::visit(Words{}, action));
    }
    return *this;
  }
  // Reads the record after `change`.
  template <typename Change>
  Node& Reads(Change change) {
    change(job);
    ++job.rev;
    return On(RecordRead{job});
  }
  Node& Reads() {
    return Reads([](Job&) {});
  }
  Node& Notice(int64_t seconds) {
    const WallTime until{1'700'000'000'000 + ms + seconds * 1000};
    return On(NoticeRead{stoker::Notice{"terminate", until}});
  }
  Node& Exits(int code, int signal = 0, bool out_of_memory = false) {
    return On(ProgramEnded{TaskExit{code, signal, out_of_memory}});
  }
  Node& Does(const std::string& expected) {
    EXPECT_EQ(Join(done, "; "), expected);
    done.clear();
    return *this;
  }
  // "<agent phase> <attempt>-<rank> <reported phase>[ <reason>[ code]][ stopped][ checked]"
  Node& Shows(const std::string& expected) {
    const NodeReport& r = supervisor->report();
    std::string text = std::string(Name(supervisor->phase())) + " " + Words::Of(r.attempt, r.rank) +
                       " " + std::string(Name(r.phase));
    if (r.end) text += " " + std::string(Name(r.end->reason));
    if (r.end && r.end->exit_code != 0) text += " " + std::to_string(r.end->exit_code);
    if (r.stopped) text += " stopped";
    if (r.end_checked) text += " checked";
    EXPECT_EQ(text, expected);
    return *this;
  }
  Node& Forget() {
    done.clear();
    return *this;
  }
  std::optional<int64_t> WakesIn() const {
    if (!supervisor->wake()) return std::nullopt;
    return supervisor->wake()->ms - ms;
  }

  SupervisorConfig config;
  std::optional<Supervisor> supervisor;
  Job job;
  int64_t ms = 5'000;
  std::vector<std::string> done;
};

// ---- changes of the record ----
auto Opens(int number, std::vector<int> launches,
           AttemptState state = AttemptState::kProvisioning) {
  return [=](Job& job) {
    Attempt attempt;
    attempt.number = number;
    attempt.launches = launches;
    attempt.state = state;
    job.attempts.push_back(attempt);
  };
}
auto Begins(int number, const std::string& restore = "") {
  return [=](Job& job) {
    FindAttempt(job, number)->state = AttemptState::kStaging;
    FindAttempt(job, number)->restore = restore;
  };
}
auto Stops(int number, EndReason reason) {
  return [=](Job& job) { FindAttempt(job, number)->ending = Ending{reason, 0, 0, false, -1, ""}; };
}
auto Ends(int number) {
  return [=](Job& job) { FindAttempt(job, number)->state = AttemptState::kEnded; };
}
auto Closes() {
  return [](Job& job) { job.launches[0].closed = true; };
}
auto Finishes() {
  return [](Job& job) { job.state = JobState::kSucceeded; };
}

StagingEnded Staged(int attempt, int port = 29500) {
  StagingEnded event;
  event.attempt = attempt;
  event.master_port = port;
  return event;
}

Node Claiming(std::vector<int> launches = {kLaunch}, SupervisorConfig config = {}) {
  Node n(std::move(config));
  n.Reads(Opens(1, std::move(launches), AttemptState::kStaging)).Does("claim 1-0");
  return n;
}
Node Staging(std::vector<int> launches = {kLaunch}, SupervisorConfig config = {}) {
  Node n = Claiming(std::move(launches), std::move(config));
  n.On(ClaimAnswered{1, ClaimOutcome::kWon, {}}).Does("publish; stage 1-0");
  return n;
}
Node Running(SupervisorConfig config = {}) {
  Node n = Staging({kLaunch}, std::move(config));
  n.On(Staged(1)).Does("publish; start 1-0 127.0.0.2:29500");
  n.On(ProgramStarted{}).Does("publish; hurry").Shows("running 1-0 Running");
  return n;
}
NodeReport Peer(NodePhase phase, std::optional<EndReason> end = {}) {
  NodeReport peer;
  peer.attempt = 1;
  peer.rank = 1;
  peer.launch = 2;
  peer.phase = phase;
  peer.address = "127.0.0.3";
  peer.master_port = 31000;
  if (end) peer.end = Ending{*end, 0, 0, false, -1, ""};
  return peer;
}

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
            "kill; finalize started by deadline",
            {},
            "Interrupted 1"},
           {"exit 0 after SIGTERM because of a notice",
            deadline,
            {0, 0, false},
            "kill; finalize started signalled by deadline",
            {},
            "Interrupted"},
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
    if (row.taken) n.On(EndChecked{*row.taken}).Does("finalize started");
    n.On(Finalized{1}).Does("publish; hurry").Shows("ended 1-0 Ended " + row.shows);
  }
}

TEST(SupervisorTest, OutOfMemoryIsSaid) {
  Node n = Running();
  n.Exits(0, 9, true).On(EndChecked{false});
  EXPECT_TRUE(n.supervisor->report().end->out_of_memory);
  EXPECT_EQ(n.supervisor->report().end->signal, 9);
  EXPECT_EQ(n.supervisor->report().end->reason, EndReason::kUserError);
}

TEST(SupervisorTest, ANoticeThatComesWhileTheEndIsCheckedCounts) {
  Node n = Running();
  n.Exits(1).Notice(30).Forget().On(EndChecked{false}).Does("finalize started by deadline");
  n.Shows("finalizing 1-0 Stopping Interrupted 1 checked");
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
    n.On(Staged(1)).Forget().On(ProgramStarted{Status(row.code, "no")}).Does("finalize");
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
  n.On(failed).Does("check").On(EndChecked{false}).Does("finalize");
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

// ---- notices ----

TEST(SupervisorTest, ALongNoticeIsUsedForTraining) {
  Node n = Running();
  n.Notice(120).Does("publish; hurry; ask for checkpoint").Shows("running 1-0 Draining");
  EXPECT_EQ(n.WakesIn(), 95'000);
  n.After(94).Does("").After(1).Does("term; publish");
  // Killed in time to leave the uploads what the plan leaves them, whatever the grace.
  EXPECT_EQ(n.WakesIn(), 25'000 - 16'666);
  n.After(9).Does("kill").Exits(0, 9).Does("kill; finalize started signalled by deadline");
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

TEST(SupervisorTest, ANoticeWhileStagingOrReady) {
  Node n = Staging();
  n.Notice(40).Does("publish; hurry");
  EXPECT_EQ(n.WakesIn(), 30'000);
  n.After(30).Does("cancel staging");
  n.On(Staged(1))
      .Does("finalize by deadline")
      .On(Finalized{1})
      .Shows("ended 1-0 Ended Interrupted");

  n = Staging({kLaunch, 2});
  n.On(Staged(1)).Notice(40).Forget();
  EXPECT_EQ(n.WakesIn(), 30'000);
  n.After(30).Does("finalize by deadline").On(Finalized{1}).Shows("ended 1-0 Ended Interrupted");
}

TEST(SupervisorTest, NothingIsStartedThatWouldHaveToStopAtOnce) {
  Node n = Staging();
  n.Notice(0).Does("publish; hurry; cancel staging");
  n = Staging({kLaunch, 2});
  n.On(Staged(1)).Forget();
  n.ms += 1000;
  n.Notice(0).Does("publish; hurry; finalize by deadline");
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

// ---- a restarted agent ----

TEST(SupervisorTest, ARestartedAgentBeginsNoProgramInTheOldAttempt) {
  NodeReport previous;
  previous.attempt = 1;
  previous.phase = NodePhase::kRunning;
  previous.restored = "1-2";
  previous.run_ms = 7'000;
  Node n = Claiming();
  n.On(ClaimAnswered{1, ClaimOutcome::kOursBefore, previous}).Does("finalize");
  n.On(Finalized{1}).Shows("ended 1-0 Ended NodeLost");
  EXPECT_EQ(n.supervisor->report().run_ms, 7'000);
  Node without = Claiming();
  without.On(ClaimAnswered{1, ClaimOutcome::kOursBefore, {}}).Does("finalize");
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
  n.On(ClaimAnswered{1, ClaimOutcome::kOursBefore, previous}).Does("finalize started");
  n.On(Finalized{1}).Shows("ended 1-0 Ended UserError 3 checked");

  previous.end = Ending{EndReason::kCancelled, 0, 15, false, -1, "told"};
  previous.stopped = true;
  Node told = Claiming();
  told.On(ClaimAnswered{1, ClaimOutcome::kOursBefore, previous}).Does("finalize started signalled");
  told.On(Finalized{1}).Shows("ended 1-0 Ended Cancelled stopped checked");
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
}  // namespace stoker
