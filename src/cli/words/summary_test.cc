// SPDX-License-Identifier: Apache-2.0
// What a summary says, and that it does not say it twice.
#include <gtest/gtest.h>

#include "cli/words/story.h"

namespace stoker::cli {
namespace {

struct Failed {
  Failed() {
    job.id = "abcd2345";
    job.name = "digits";
    job.num_nodes = 1;
    job.state = JobState::kFailed;
    job.ended = WallTime{5000};
    Attempt attempt;
    attempt.number = 1;
    attempt.state = AttemptState::kEnded;
    attempt.ended = job.ended;
    Ending ending;
    ending.reason = EndReason::kUserError;
    ending.exit_code = 3;
    ending.rank = 0;
    ending.why = "the program ended with exit code 3";
    attempt.ending = job.result = ending;
    job.attempts = {attempt};
    ReportSeen seen;
    seen.report.attempt = 1;
    seen.report.stderr_tail = "Traceback\nit broke\n";
    reports = {seen};
  }
  std::string Tell(const AlreadySaid& said_before = {}) const {
    return TellSummary(job, reports, WallTime{5000}, said_before);
  }
  Job job;
  std::vector<ReportSeen> reports;
};

int Times(const std::string& text, const std::string& part) {
  int times = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++times;
  return times;
}

TEST(Summary, TheExitCodeOnce) {
  const Failed failed;
  EXPECT_EQ(Times(failed.Tell(), "exit code 3"), 1) << failed.Tell();
  EXPECT_EQ(Times(failed.Tell(), "it broke"), 1);
}

TEST(Summary, AReasonInItsOwnWordsOnce) {
  Failed failed;
  failed.job.result->why = "two attempts without progress";
  EXPECT_EQ(Times(failed.Tell(), "without progress"), 1);
  EXPECT_EQ(Times(failed.Tell({.why = true, .output = false}), "without progress"), 0);
  EXPECT_EQ(Times(failed.Tell({.why = true, .output = false}), "exit code 3"), 1);
}

TEST(Summary, WhatHelpsAfterAFailure) {
  Failed failed;
  EXPECT_EQ(Times(failed.Tell(), "fix it, then stoker run again"), 1) << failed.Tell();
  EXPECT_EQ(Times(failed.Tell(), "--from"), 0) << "there is nothing to go on from";
  failed.job.attempts[0].newest_checkpoint = "1-2";
  EXPECT_EQ(Times(failed.Tell(), "stoker run --from abcd2345"), 1) << failed.Tell();
  EXPECT_EQ(Times(failed.Tell(), "stoker retry abcd2345 runs the same code"), 1);
  failed.job.result->reason = EndReason::kTimedOut;
  EXPECT_EQ(Times(failed.Tell(), "--from"), 0) << failed.Tell();
  EXPECT_EQ(Times(failed.Tell(), "stoker retry abcd2345"), 1);
}

TEST(Summary, WhatWasNotKept) {
  Failed failed;
  failed.reports[0].report.phase = NodePhase::kEnded;
  failed.reports[0].report.trouble = "output 'x' is not kept: \x1b[2Jwhy";
  EXPECT_EQ(Times(failed.Tell(), "output 'x' is not kept: why"), 1) << failed.Tell();
}

TEST(Summary, LastWordsUnlessTheyWereSeen) {
  const Failed failed;
  EXPECT_EQ(Times(failed.Tell({.why = false, .output = true}), "it broke"), 0);
  EXPECT_EQ(Times(failed.Tell({.why = false, .output = true}), "last lines"), 0);
}

}  // namespace
}  // namespace stoker::cli
