// SPDX-License-Identifier: Apache-2.0
#include "view/cut_off.h"

#include <gtest/gtest.h>

namespace stoker {
namespace {

ReportSeen Report(int attempt, int rank, NodePhase phase) {
  ReportSeen seen;
  seen.report.attempt = attempt;
  seen.report.rank = rank;
  seen.report.phase = phase;
  return seen;
}

Job WithAttempts(JobState state, std::vector<AttemptState> attempts) {
  Job job;
  job.state = state;
  for (const AttemptState one : attempts) {
    job.attempts.emplace_back();
    job.attempts.back().number = static_cast<int>(job.attempts.size());
    job.attempts.back().state = one;
  }
  return job;
}

TEST(CutOff, WhoNeverSaidThatItHadEnded) {
  const Job job = WithAttempts(JobState::kFailed, {AttemptState::kEnded, AttemptState::kEnded});
  const std::vector<ReportSeen> reports = {
      Report(1, 0, NodePhase::kDraining), Report(1, 1, NodePhase::kEnded),
      Report(2, 0, NodePhase::kEnded), Report(2, 1, NodePhase::kRunning),
      Report(3, 0, NodePhase::kRunning)};
  const auto cut = CutOff(job, reports);
  ASSERT_EQ(cut.size(), 2u);
  EXPECT_EQ(cut[0], &reports[0].report);
  EXPECT_EQ(cut[1], &reports[3].report);
}

TEST(CutOff, NotWhoHadNothingToSayYet) {
  const Job job = WithAttempts(JobState::kFailed, {AttemptState::kEnded});
  EXPECT_TRUE(CutOff(job, {Report(1, 0, NodePhase::kWaiting)}).empty());
}

TEST(CutOff, WhileTheJobGoesOnTheNewestAttemptMayStillSpeak) {
  const std::vector<ReportSeen> reports = {Report(1, 0, NodePhase::kStopping)};
  EXPECT_TRUE(CutOff(WithAttempts(JobState::kRunning, {AttemptState::kEnded}), reports).empty());
  EXPECT_EQ(
      CutOff(WithAttempts(JobState::kRunning, {AttemptState::kEnded, AttemptState::kProvisioning}),
             reports)
          .size(),
      1u);
}

}  // namespace
}  // namespace stoker
