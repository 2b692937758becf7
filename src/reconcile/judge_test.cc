// SPDX-License-Identifier: Apache-2.0
// Judging an end: which of several ends is the attempt's. One row a case.
#include <gtest/gtest.h>

#include "reconcile/reconcile.h"
#include "test/kit/story.h"

namespace stoker::story {
namespace {

constexpr EndReason kError = EndReason::kUserError;

Story Gang() {
  Story s(2);
  s.Pass().See(AllRun()).Pass().Expect("Running; 1 Running L1,L2; sent L1 L2");
  return s;
}

struct Row {
  std::string name;
  std::vector<std::vector<Fact>> steps;  // between the steps, passes until nothing changes
  std::string ending;                    // of attempt 1
  JobState state;                        // of the job
};

class JudgeTest : public testing::TestWithParam<Row> {};

TEST_P(JudgeTest, EndOfTheAttempt) {
  Story s = Gang();
  for (const auto& step : GetParam().steps) {
    for (const Fact& fact : step) s.See(fact);
    s.Settle();
  }
  const Attempt& first = s.job.attempts[0];
  ASSERT_EQ(first.state, AttemptState::kEnded) << Join(s.notes, "\n");
  std::string ending(Name(first.ending->reason));
  if (first.ending->exit_code != 0) ending += " " + std::to_string(first.ending->exit_code);
  if (first.ending->rank >= 0) ending += " of " + std::to_string(first.ending->rank);
  EXPECT_EQ(ending, GetParam().ending) << Join(s.notes, "\n");
  EXPECT_EQ(Name(s.job.state), Name(GetParam().state)) << Join(s.notes, "\n");
}

Fact OutOfMemory(int rank) {
  return [=](Story& s) {
    End(1, rank, kError)(s);
    s.Report(1, rank).end->signal = 9;
    s.Report(1, rank).end->out_of_memory = true;
  };
}

INSTANTIATE_TEST_SUITE_P(
    Ends, JudgeTest,
    testing::Values(Row{"a failing node ends the attempt on all with its exit code",
                        {{End(1, 1, kError, 3)}, {Told(1, 0)}},
                        "UserError 3 of 1",
                        JobState::kFailed},
                    Row{"the failure seen first is the cause, not the survivor's",
                        {{End(1, 1, kError, 3)}, {End(1, 0, kError, 1)}},
                        "UserError 3 of 1",
                        JobState::kFailed},
                    Row{"of two failures seen at once, the lower rank",
                        {{End(1, 1, kError, 3), End(1, 0, kError, 1)}},
                        "UserError 1 of 0",
                        JobState::kFailed},
                    Row{"of two failures seen at once, the one out of memory",
                        {{OutOfMemory(1), End(1, 0, kError, 1)}},
                        "UserError of 1",
                        JobState::kFailed},
                    Row{"a failure, and the other node completed",
                        {{End(1, 0, EndReason::kCompleted)}, {End(1, 1, kError, 3)}},
                        "UserError 3 of 1",
                        JobState::kFailed},
                    Row{"the survivor fails first, then its peer's loss shows",
                        {{End(1, 0, kError, 1)}, {IsGone(2)}},
                        "NodeLost of 1",
                        JobState::kRunning},
                    Row{"the survivor fails first, then its peer is silent",
                        {{End(1, 0, kError, 1)}, {Quiet(2, 90, 90)}},
                        "NodeLost of 1",
                        JobState::kRunning},
                    Row{"the survivor fails first, then its peer reports the interruption",
                        {{End(1, 0, kError, 1)}, {End(1, 1, EndReason::kInterrupted)}},
                        "Interrupted of 1",
                        JobState::kRunning},
                    Row{"the survivor fails first, then its peer's agent was started again",
                        {{End(1, 0, kError, 1)}, {End(1, 1, EndReason::kNodeLost)}},
                        "NodeLost of 1",
                        JobState::kRunning},
                    Row{"the survivor fails while its peer drains, and the peer never speaks again",
                        {{NoticeOf(1, 1, 10)}, {End(1, 0, kError, 1)}, {After(71), IsGone(2)}},
                        "Interrupted of 1",
                        JobState::kRunning},
                    Row{"interrupted outranks lost",
                        {{End(1, 0, EndReason::kNodeLost)}, {End(1, 1, EndReason::kInterrupted)}},
                        "Interrupted of 1",
                        JobState::kRunning},
                    Row{"a machine that goes after its node's own verdict does not change it",
                        {{End(1, 0, kError, 4), IsGone(1)}, {Told(1, 1)}},
                        "UserError 4 of 0",
                        JobState::kFailed},
                    Row{"a machine that goes after its node was told to stop does not change it",
                        {{End(1, 0, kError, 4)}, {Told(1, 1), IsGone(2)}},
                        "UserError 4 of 0",
                        JobState::kFailed},
                    Row{"a loss that was a failure after all",
                        {{IsGone(2)}, {End(1, 1, kError, 5), Quiet(2, 1, 0)}, {Told(1, 0)}},
                        "UserError 5 of 1",
                        JobState::kFailed},
                    Row{"one completed, the other is lost: again",
                        {{End(1, 0, EndReason::kCompleted)}, {IsGone(2)}},
                        "NodeLost of 1",
                        JobState::kRunning},
                    Row{"max_duration on one node is the job's",
                        {{End(1, 1, EndReason::kTimedOut)}, {Told(1, 0)}},
                        "TimedOut of 1",
                        JobState::kFailed},
                    Row{"the survivor fails of its peer's limit first",
                        {{End(1, 0, kError, 1)}, {End(1, 1, EndReason::kTimedOut)}},
                        "TimedOut of 1",
                        JobState::kFailed},
                    Row{"the survivor fails of the rule that stopped its peer first",
                        {{End(1, 0, kError, 1)}, {End(1, 1, EndReason::kStoppedByRule)}},
                        "StoppedByRule of 1",
                        JobState::kFailed},
                    Row{"an end that is judged and still uploads stops the others",
                        {{End(1, 1, kError, 3), In(1, 1, NodePhase::kStopping)},
                         {End(1, 0, kError, 1), In(1, 1, NodePhase::kEnded)}},
                        "UserError 3 of 1",
                        JobState::kFailed},
                    Row{"completed but lost before everything was uploaded: again",
                        {{End(1, 0, EndReason::kCompleted), End(1, 1, EndReason::kCompleted),
                          In(1, 1, NodePhase::kStopping)},
                         {IsGone(2)}},
                        "NodeLost of 1",
                        JobState::kRunning},
                    Row{"stall is the job's",
                        {{End(1, 1, EndReason::kStoppedByRule)}, {Told(1, 0)}},
                        "StoppedByRule of 1",
                        JobState::kFailed},
                    Row{"cancelled, however the nodes ended",
                        {{Cancel()}, {Told(1, 1), End(1, 0, kError, 1)}},
                        "Cancelled",
                        JobState::kCancelled},
                    Row{"cancelled, and a machine was lost meanwhile",
                        {{Cancel()}, {Told(1, 1), IsGone(1)}},
                        "Cancelled",
                        JobState::kCancelled}),
    [](const testing::TestParamInfo<Row>& row) {
      std::string name = row.param.name;
      for (char& c : name) {
        if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
      }
      return name;
    });

TEST(VerdictTest, AFailureIsNotFinalBeforeEveryNodeHasSpoken) {
  Gang()
      .See(End(1, 0, kError, 1))
      .Settle()
      .See(After(80))
      .Settle()
      .Expect("Running; 1 Running L1,L2 (UserError 1)");
}

// Found by sim: a node is heard of again right after it was given up, and its program fails because
// its peers were told to stop.
TEST(VerdictTest, AFailureOfANodeThatWasGivenUpMayBeOurOwnDoing) {
  Story s = Gang();
  s.See(Quiet(2, 100, 100)).Settle();
  s.See(After(5), Told(1, 0), End(1, 1, kError, 1), Quiet(2, 0, 0)).Settle();
  s.Expect("Running; 1 Ended L1,L2 (NodeLost); 2 Staging L1,L3; L2 lost; sent L3; ended m2");
}

// The store's clock may tell whole seconds only.
TEST(VerdictTest, AFailureOfTheSecondInWhichItsNodeWasGivenUpMayBeOurOwnDoing) {
  Story s = Gang();
  s.See(Quiet(2, 100, 100)).Settle();
  s.See(Told(1, 0), End(1, 1, kError, 1), Quiet(2, 0, 0)).Settle();
  s.Expect("Running; 1 Ended L1,L2 (NodeLost); 2 Staging L1,L3; L2 lost; sent L3; ended m2");
  Story before = Gang();
  before.See(Quiet(2, 100, 100)).Settle();
  before.See(Told(1, 0), End(1, 1, kError, 1), Quiet(2, 1, 0)).Settle();
  before.Expect("Failed (UserError 1); 1 Ended L1,L2 (UserError 1); L1 done; L2 lost; ended m2");
}

// Found by sim: the report of the node that was the cause had been damaged in the store.
TEST(VerdictTest, ANodeWhoseReportCannotBeReadHasNotFailedToCome) {
  Story s = Gang();
  s.See(Unread(1, 1), End(1, 0, kError, 1), Cancel()).Settle();
  s.Expect("Stopping; 1 Running L1,L2 (Cancelled)");
  s.See(End(1, 1, EndReason::kNodeLost)).Settle();
  s.Expect("Cancelled (Cancelled); 1 Ended L1,L2 (Cancelled); L1 done; L2 done");
  Story told = Gang();
  told.See(End(1, 0, kError, 1)).Pass().See(Unread(1, 1), Cancel()).Settle();
  told.Expect("Stopping; 1 Running L1,L2 (UserError 1)");
  told.See(End(1, 1, EndReason::kNodeLost)).Settle();
  told.Expect("Cancelled (Cancelled); 1 Ended L1,L2 (NodeLost); L1 done; L2 done");
}

TEST(VerdictTest, ASetupThatFailsDoesNotWaitForMachinesThatNeverComeAndStaysAnError) {
  Story(2)
      .See(Withhold(2))
      .Pass()
      .See(End(1, 0, kError, 9))
      .Settle()
      .Expect(
          "Failed (UserError 9); 1 Ended L1,L2 (UserError 9); L1 done; L2 superseded; "
          "sent L1 L2");
}

TEST(VerdictTest, AMachineThatBootsIsKeptForTheNextAttempt) {
  Story s(2);
  s.Pass()
      .See(Boots(2), End(1, 0, EndReason::kNodeLost))
      .Settle()
      .Expect("Pending; 1 Staging L1,L2 (NodeLost); sent L1 L2");
  s.See(Told(1, 1)).Settle().Expect("Pending; 1 Ended L1,L2 (NodeLost); 2 Staging L1,L2");
}

TEST(VerdictTest, ReportsOfAReplacedLaunchAreNotThisAttempts) {
  Story s = Gang();
  s.See(End(1, 0, kError, 1));
  s.Report(1, 0).launch = 77;
  s.Settle().Expect("Running; 1 Running L1,L2");
}

Story::Fact Misses(int rank, const std::string& output) {
  return [=](Story& s) { s.Report(1, rank).missing_outputs.push_back(output); };
}

// What is kept lies in the store for all nodes: one that has it is enough.
TEST(Judge, ARequiredOutputThatNoNodeHasFailsTheJob) {
  for (const bool both : {false, true}) {
    Story s(2);
    s.spec.outputs = {{"logs", false}, {"model.pt", true}};
    s.spec.outputs_given = true;
    s.Pass().See(AllRun()).Pass();
    s.See(End(1, 0, EndReason::kCompleted), End(1, 1, EndReason::kCompleted), Misses(0, "model.pt"),
          Misses(0, "logs"), Misses(1, "logs"));
    if (both) s.See(Misses(1, "model.pt"));
    s.Settle();
    EXPECT_EQ(s.job.state, both ? JobState::kFailed : JobState::kSucceeded);
    ASSERT_TRUE(s.job.result);
    EXPECT_EQ(s.job.result->reason, both ? EndReason::kUserError : EndReason::kCompleted);
    EXPECT_EQ(s.job.result->why.find("required output 'model.pt' never came") != std::string::npos,
              both)
        << s.job.result->why;
    EXPECT_EQ(
        s.job.attempts[0].missing_outputs,
        both ? (std::vector<std::string>{"logs", "model.pt"}) : (std::vector<std::string>{"logs"}));
  }
}

// It does not hide why an attempt failed.
TEST(Judge, AMissingOutputIsNoReasonWhereThereIsAnother) {
  Story s;
  s.spec.outputs = {{"model.pt", true}};
  s.spec.outputs_given = true;
  s.Pass().See(AllRun()).Pass();
  s.See(End(1, 0, EndReason::kUserError, 3), Misses(0, "model.pt")).Settle();
  ASSERT_TRUE(s.job.result);
  EXPECT_EQ(s.job.result->exit_code, 3);
}

}  // namespace
}  // namespace stoker::story
