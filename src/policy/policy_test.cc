// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "policy/drain.h"
#include "policy/retry.h"

namespace stoker {
namespace {

// ---- retry: a history of attempts, and what follows the last of them ----

struct Past {
  EndReason reason = EndReason::kNone;
  int code = 0;
  std::string restore = {};
  std::string committed = {};  // newest checkpoint of the attempt
  bool noticed = false;
  std::optional<CloseReason> close_reason = {};  // of its launch
};

class History {
 public:
  History& Had(const Past& past) {
    Launch launch;
    launch.number = static_cast<int>(job_.launches.size()) + 1;
    launch.closed = past.close_reason.has_value();
    launch.close_reason = past.close_reason;
    job_.launches.push_back(launch);
    Attempt attempt;
    attempt.number = static_cast<int>(job_.attempts.size()) + 1;
    attempt.launches = {launch.number};
    attempt.state = AttemptState::kEnded;
    attempt.restore = past.restore;
    attempt.newest_checkpoint = past.committed;
    attempt.noticed = past.noticed;
    attempt.ending = Ending{past.reason, past.code, 0, false, 0, "so"};
    job_.attempts.push_back(attempt);
    return *this;
  }
  History& Had(int times, const Past& past) {
    for (int i = 0; i < times; ++i) Had(past);
    return *this;
  }
  History& Allows(int restarts, std::vector<int> codes = {}) {
    spec_.job_recovery.max_restarts_on_errors = restarts;
    spec_.job_recovery.recover_on_exit_codes = std::move(codes);
    return *this;
  }
  History& Restarted(int times) {
    job_.error_restarts = times;
    return *this;
  }
  History& Suspects(std::vector<std::string> ids) {
    job_.suspects = std::move(ids);
    return *this;
  }
  History& RestoreFailed() {
    restore_failed_ = true;
    return *this;
  }
  // "retry [in N ms] [suspect X] [counted]" or "<state> <reason> [code]"
  void Expect(const std::string& expected) {
    const AfterAttempt after =
        ChooseAfterAttempt(job_, spec_, job_.attempts.back(), restore_failed_);
    std::string text;
    if (after.retry) {
      text = "retry";
      if (after.delay.ms != 0) text += " in " + std::to_string(after.delay.ms) + " ms";
      if (!after.suspect.empty()) text += " suspect " + after.suspect;
      if (after.counts_as_error_restart) text += " counted";
    } else {
      text = std::string(Name(after.state)) + " " + std::string(Name(after.result.reason));
      if (after.result.exit_code != 0) text += " " + std::to_string(after.result.exit_code);
    }
    EXPECT_EQ(text, expected) << after.why;
    EXPECT_FALSE(after.why.empty());
  }

 private:
  Job job_;
  JobSpec spec_;
  bool restore_failed_ = false;
};

constexpr EndReason kError = EndReason::kUserError;
constexpr EndReason kTaken = EndReason::kInterrupted;
constexpr EndReason kLost = EndReason::kNodeLost;

TEST(RetryTest, OneAttempt) {
  struct Row {
    EndReason reason;
    std::string after;
  };
  for (const Row& row : std::vector<Row>{{EndReason::kCompleted, "Succeeded Completed"},
                                         {EndReason::kCancelled, "Cancelled Cancelled"},
                                         {EndReason::kTimedOut, "Failed TimedOut"},
                                         {EndReason::kStoppedByRule, "Failed StoppedByRule"},
                                         {EndReason::kLaunchRefused, "Failed LaunchRefused"},
                                         {EndReason::kNoProgress, "Failed NoProgress"},
                                         {kError, "Failed UserError"},
                                         {kTaken, "retry"},
                                         {kLost, "retry"},
                                         {EndReason::kNodeFault, "retry"},
                                         {EndReason::kInternal, "retry"}}) {
    History().Had({row.reason}).Expect(row.after);
  }
}

TEST(RetryTest, AnErrorIsNotRetriedUnlessTheFileSaysSo) {
  History().Had({kError, 3, "", "1-5"}).Expect("Failed UserError 3");
  History().Allows(2).Had({kError, 3}).Expect("retry counted");
  History().Allows(2).Restarted(1).Had(2, {kError, 3}).Expect("retry counted");
  History().Allows(2).Restarted(2).Had(3, {kError, 3}).Expect("Failed UserError 3");
}

TEST(RetryTest, ExitCodesToRecoverOnAreNotCounted) {
  History().Allows(0, {75}).Had({kError, 75, "", "1-1"}).Expect("retry");
  History().Allows(0, {75}).Had({kError, 3}).Expect("Failed UserError 3");
  History().Allows(1, {75}).Restarted(1).Had(2, {kError, 75, "", "1-1"}).Expect("retry");
  History().Allows(0, {75}).Had(3, {kError, 75}).Expect("retry in 1000 ms");
  History().Allows(0, {75}).Had(500, {kError, 75}).Expect("retry in 300000 ms");
}

TEST(RetryTest, ASignalIsReportedAsAShellDoes) {
  Job job;
  job.attempts.emplace_back();
  job.attempts[0].ending = Ending{kError, 0, 9, true, 0, "out of memory"};
  JobSpec spec;
  spec.job_recovery.recover_on_exit_codes = {137};
  EXPECT_TRUE(ChooseAfterAttempt(job, spec, job.attempts[0], false).retry);
  spec.job_recovery.recover_on_exit_codes = {9};
  EXPECT_FALSE(ChooseAfterAttempt(job, spec, job.attempts[0], false).retry);
}

TEST(RetryTest, AnErrorAfterARestoreAndBeforeAnythingNewStepsOverThatCheckpointOnce) {
  const Past taken{kTaken, 0, "", "1-3"};
  History().Had(taken).Had({kError, 1, "1-3"}).Expect("retry suspect 1-3");
  History().Had(taken).Had({kError, 1, "1-3", "2-1"}).Expect("Failed UserError 1");
  History()
      .Had(taken)
      .Had({kError, 1, "1-3"})
      .Had({kError, 1, "1-2"})
      .Suspects({"1-3"})
      .Expect("Failed NoProgress 1");
  History()
      .Had(taken)
      .Had({kError, 1, "1-3"})
      .Had({kError, 1, ""})
      .Suspects({"1-3"})
      .Expect("Failed UserError 1");
}

TEST(RetryTest, WhatComesBetweenTheTwoFailuresDoesNotHideTheFirst) {
  const Past taken{kTaken, 0, "", "1-3"};
  for (const Past& between :
       {Past{kTaken, 0, "1-2", "", true}, Past{kLost, 0, "1-2"}, Past{EndReason::kCancelled}}) {
    History()
        .Had(taken)
        .Had({kError, 1, "1-3"})
        .Had(between)
        .Had({kError, 1, "1-2"})
        .Suspects({"1-3"})
        .Expect("Failed NoProgress 1");
  }
  History()
      .Had(taken)
      .Had({kError, 1, "1-3"})
      .Had({kTaken, 0, "1-2", "3-1"})
      .Had({kError, 1, "3-1"})
      .Suspects({"1-3"})
      .Expect("retry suspect 3-1");
}

TEST(RetryTest, AllowedRestartsUsedUpOnOneCheckpointStillLeaveTheOneBeforeIt) {
  History()
      .Allows(1)
      .Restarted(1)
      .Had({kTaken, 0, "", "1-3"})
      .Had({kError, 1, "1-3"})
      .Had({kError, 1, "1-3"})
      .Expect("retry suspect 1-3");
}

TEST(RetryTest, ACheckpointThatCannotBeRestoredIsSuspect) {
  History().Had({EndReason::kNodeFault, 0, "1-3"}).RestoreFailed().Expect("retry suspect 1-3");
  History().Had({EndReason::kNodeFault, 0, ""}).RestoreFailed().Expect("retry");
  History().Had({kError, 2, "1-3", "2-1"}).RestoreFailed().Expect("Failed UserError 2");
}

// It may have been half-written: the program is not to blame.
TEST(RetryTest, AnErrorOnWhatWasLeftIsNoErrorOfTheProgram) {
  const Past on_left = {kError, 9, "as-left-1"};
  History().Had({kTaken}).Had(on_left).Expect("retry suspect as-left-1");
  History().Allows(2).Had({kTaken}).Had(on_left).Expect("retry suspect as-left-1");
  History()
      .Suspects({"as-left-1", "as-left-2"})
      .Had({kTaken})
      .Had(on_left)
      .Had({kTaken})
      .Had({kError, 9, "as-left-3"})
      .Expect("retry suspect as-left-3");
  // From the beginning it counts as ever, and after a checkpoint.
  History().Had({kTaken}).Had(on_left).Had({kError, 9}).Expect("Failed UserError 9");
  History().Had({kTaken}).Had({kError, 9, "as-left-1", "2-1"}).Expect("Failed UserError 9");
  // Nor is it one of the two failures from different checkpoints.
  History()
      .Suspects({"z/as-left-1"})
      .Had({kError, 9, "z/as-left-1"})
      .Had({kError, 9, "z/1-3"})
      .Expect("retry suspect z/1-3");
}

TEST(RetryTest, LossesBackOffAndEndAsNoProgress) {
  History().Had(2, {kLost}).Expect("retry");
  History().Had(3, {kLost}).Expect("retry in 1000 ms");
  History().Had(6, {kLost}).Expect("retry in 8000 ms");
  History().Had(19, {kLost}).Expect("retry in 300000 ms");
  History().Had(20, {kLost}).Expect("Failed NoProgress");
}

TEST(RetryTest, FaultsThatNodesReportThemselvesEndSooner) {
  const Past fault{EndReason::kNodeFault};
  History().Had(4, fault).Expect("retry in 2000 ms");
  History().Had(5, fault).Expect("Failed NoProgress");
  History().Had(3, fault).Had({kTaken}).Had(2, fault).Expect("Failed NoProgress");
  History().Had(4, {kLost}).Had(fault).Expect("retry in 4000 ms");
  History().Had(4, fault).Had({kLost, 0, "", "5-1"}).Had(fault).Expect("retry");
}

TEST(RetryTest, ProgressForgivesLosses) {
  History().Had(19, {kLost}).Had({kLost, 0, "", "20-1"}).Expect("retry");
  History().Had(19, {kLost}).Had({kLost, 0, "", "20-1"}).Had(2, {kLost}).Expect("retry");
}

TEST(RetryTest, TheMarketIsNobodysFault) {
  History().Had(500, {kTaken}).Expect("retry");
  History().Had(500, {kLost, 0, "", "", true}).Expect("retry");
  History().Had(500, {kLost, 0, "", "", false, CloseReason::kNeverCame}).Expect("retry");
  // It neither counts nor hides the losses before it.
  History().Had(19, {kLost}).Had(5, {kTaken}).Had({kLost}).Expect("Failed NoProgress");
  History().Had(19, {kLost}).Had({EndReason::kCancelled}).Had({kLost}).Expect("Failed NoProgress");
}

// ---- drain ----

TEST(DrainTest, LongNoticesAreForTrainingShortOnesForSaving) {
  struct Row {
    int64_t lead, term, kill;  // milliseconds
  };
  for (const Row& row : {Row{120'000, 25'000, 16'666}, Row{30'000, 7'500, 5'000},
                         Row{5'000, 1'250, 833}, Row{0, 0, 0}, Row{-9'000, 0, 0}}) {
    const DrainPlan plan = PlanDrain(Duration{row.lead}, {});
    EXPECT_EQ(plan.term_before.ms, row.term) << row.lead;
    EXPECT_EQ(plan.kill_before.ms, row.kill) << row.lead;
  }
}

TEST(DrainTest, TheOrderIsAlwaysTermKillDeadline) {
  for (const Saving& saving :
       {Saving{}, Saving{true}, Saving{true, false, Duration::Seconds(300), Duration::Ms(40)},
        Saving{true, false, Duration::Ms(10), Duration::Seconds(900)}}) {
    for (int64_t lead = -5'000; lead < 400'000; lead += 137) {
      const DrainPlan plan = PlanDrain(Duration{lead}, saving);
      EXPECT_GE(plan.term_before, plan.kill_before);
      EXPECT_GE(plan.kill_before.ms, 0);
      EXPECT_LE(plan.term_before.ms, std::max<int64_t>(lead, 0));
    }
  }
}

TEST(DrainTest, WhatSavesAtSigtermHasTheTimeForIt) {
  const Saving unseen{true};
  const Saving seen{true, false, Duration::Seconds(40), Duration::Seconds(4)};
  const Saving unsaved{true, true, Duration::Seconds(40), Duration::Seconds(4)};
  struct Row {
    Saving saving;
    int64_t lead, term, kill;  // milliseconds
  };
  for (const Row& row : {Row{unseen, 120'000, 25'000, 10'000}, Row{unseen, 30'000, 15'000, 5'000},
                         Row{unseen, 10'000, 5'000, 1'666}, Row{unseen, 5'000, 2'500, 833},
                         Row{seen, 120'000, 49'000, 4'000}, Row{seen, 30'000, 15'000, 4'000},
                         Row{unsaved, 120'000, 25'000, 16'666}}) {
    const DrainPlan plan = PlanDrain(Duration{row.lead}, row.saving);
    EXPECT_EQ(plan.term_before.ms, row.term) << row.lead;
    EXPECT_EQ(plan.kill_before.ms, row.kill) << row.lead;
  }
  EXPECT_EQ(GraceOf(Duration::Seconds(30), seen), Duration::Seconds(45));
  EXPECT_EQ(GraceOf(Duration::Seconds(30), unseen), Duration::Seconds(30));
  EXPECT_EQ(GraceOf(Duration::Seconds(30), unsaved), Duration::Seconds(30));
}

TEST(DrainTest, TheLastWordsHaveASecondOrHalfOfWhatIsLeft) {
  const MonoTime now{50'000};
  for (const auto& [left, words] : {std::pair<int64_t, int64_t>{16'000, 1'000},
                                    {2'000, 1'000},
                                    {600, 300},
                                    {1, 0},
                                    {0, 0},
                                    {-700, 0}}) {
    const MonoTime deadline = now + Duration::Ms(left);
    EXPECT_EQ((deadline - BeforeLastWords(deadline, now)).ms, words) << left;
  }
}

}  // namespace
}  // namespace stoker
