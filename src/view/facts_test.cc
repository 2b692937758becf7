// SPDX-License-Identifier: Apache-2.0
#include "view/facts.h"

#include <gtest/gtest.h>

namespace stoker {
namespace {

ReportSeen Stopping(int attempt, int rank, int64_t run_ms) {
  ReportSeen seen;
  seen.report.attempt = attempt;
  seen.report.rank = rank;
  seen.report.phase = NodePhase::kStopping;
  seen.report.end = Ending{EndReason::kCompleted, 0, 0, false, -1, ""};
  seen.report.run_ms = run_ms;
  return seen;
}

TEST(Facts, SavingBeginsWhenTheLastProgramHasEnded) {
  Attempt attempt;
  attempt.number = 1;
  attempt.launches = {1, 2};
  attempt.state = AttemptState::kRunning;
  attempt.running = WallTime{10'000};
  const WallTime now{60'000};
  std::vector<ReportSeen> reports = {Stopping(1, 0, 5'000), Stopping(2, 1, 5'000)};
  EXPECT_EQ(SavingFor(attempt, reports, now), std::nullopt) << "node 1 runs still";
  reports[1] = Stopping(1, 1, 20'000);
  EXPECT_EQ(SavingFor(attempt, reports, now), Duration::Seconds(30));
  EXPECT_EQ(SavingFor(attempt, reports, WallTime{31'000}), std::nullopt) << "that takes a moment";
  reports[0].report.phase = NodePhase::kEnded;
  EXPECT_EQ(SavingFor(attempt, reports, now), Duration::Seconds(30));
  reports[1].report.phase = NodePhase::kEnded;
  EXPECT_EQ(SavingFor(attempt, reports, now), std::nullopt);
}

TEST(Facts, APhaseIsTrueOfNodesThatAreGone) {
  Job job;
  job.attempts.resize(2);
  job.attempts[0].number = 1;
  job.attempts[0].state = AttemptState::kEnded;
  job.attempts[1].number = 2;
  job.attempts[1].state = AttemptState::kStaging;
  std::vector<ReportSeen> reports(3);
  NodeReport& lost = reports[0].report;
  lost.attempt = 1;
  lost.phase = NodePhase::kRunning;
  lost.doing = "uploading";
  EXPECT_EQ(PhaseText(lost, true), "gone (last heard of: Running)");
  EXPECT_EQ(PhaseText(Stopping(1, 0, 1).report, true), "Stopping") << "it has said how it ended";
  EXPECT_EQ(Doing(job, reports), "") << "what an ended attempt did last is over";
  for (int rank : {1, 0}) {
    NodeReport& report = reports[static_cast<size_t>(2 - rank)].report;
    report.attempt = 2;
    report.rank = rank;
    report.phase = NodePhase::kStaging;
    report.doing = rank == 0 ? "setup" : "installing packages";
  }
  EXPECT_EQ(Doing(job, reports), "setup");
  EXPECT_EQ(PhaseText(reports[1].report, false), "Staging (installing packages)");
}

TEST(Facts, AJobThatLostFilesIsNoSuccess) {
  Job job;
  job.state = JobState::kSucceeded;
  job.result = Ending{EndReason::kCompleted, 0, 0, false, -1, ""};
  job.attempts.resize(2);
  job.attempts[1].not_needed = true;
  EXPECT_EQ(ExitCodeOf(job), 0);
  job.attempts[0].unkept = 1;
  EXPECT_EQ(ExitCodeOf(job), 1);
  EXPECT_EQ(StateText(job.state, Unkept(job)), "Succeeded, 1 file not kept");
  job.attempts.emplace_back();
  EXPECT_EQ(ExitCodeOf(job), 0) << "a later attempt has made it again, and it was kept";
}

}  // namespace
}  // namespace stoker
