// SPDX-License-Identifier: Apache-2.0
// The life of a job when nobody takes anything away: submit, run, end, cancel, machines that do not
// come. Interruptions and losses are in interruption_test.cc, verdicts in judge_test.cc.
#include "reconcile/reconcile.h"

#include <gtest/gtest.h>

#include "test/kit/story.h"

namespace stoker::story {
namespace {

// A story whose program runs on every node.
Story Running(int nodes = 1) {
  Story s(nodes);
  s.Pass().See(AllRun()).Pass().Expect(nodes == 1 ? "Running; 1 Running L1; sent L1"
                                                  : "Running; 1 Running L1,L2; sent L1 L2");
  return s;
}

TEST(ReconcileTest, SubmitOpensAndBeginsTheFirstAttemptInOneWrite) {
  Story(1).Pass().Expect("Pending; 1 Staging L1; sent L1").Settle().Expect("Pending; 1 Staging L1");
}

TEST(ReconcileTest, IntentIsInTheRecordWithTokenAndTimesBeforeTheRequest) {
  Story s(2);
  const Decision decision = Reconcile(s.job, s.spec, s.seen);
  ASSERT_TRUE(decision.changed);
  ASSERT_EQ(decision.send, (std::vector<int>{1, 2}));
  for (const int number : decision.send) {
    const Request* request = FindRequest(decision.job, number);
    ASSERT_NE(request, nullptr);
    EXPECT_EQ(request->token, RequestToken("ledger", s.job, *request));
    EXPECT_EQ(request->not_after - request->opened, kSendWithin);
    EXPECT_EQ(request->slots, (std::vector<int>{number - 1}));
  }
  EXPECT_NE(decision.job.requests[0].token, decision.job.requests[1].token);
}

TEST(ReconcileTest, NothingIsSentAfterNotAfter) {
  Story(1)
      .See(Withhold(1))
      .Pass()
      .Expect("Pending; 1 Staging L1; sent L1")
      .See(After(600))
      .Pass()
      .Expect("Pending; 1 Staging L1; sent L1")
      .See(After(1))
      .Pass()
      .Expect("Pending; 1 Staging L1");
}

TEST(ReconcileTest, AnEntryOfTheRecordIsOnlySentAgainWhenTheProviderAnswered) {
  Story(1)
      .See(Withhold(1))
      .Pass()
      .See(After(5))
      .Pass()
      .Expect("Pending; 1 Staging L1; sent L1 L1")
      .See(After(60), ProviderSilent())
      .Pass()
      .Expect("Pending; 1 Staging L1");
}

TEST(ReconcileTest, ANewEntryIsSentWithoutWaitingForTheProvidersList) {
  Story(1).See(ProviderSilent()).Pass().Expect("Pending; 1 Staging L1; sent L1");
}

TEST(ReconcileTest, RunsWhenEveryNodeRuns) {
  Story(2)
      .Pass()
      .See(In(1, 0, NodePhase::kRunning), In(1, 1, NodePhase::kReady))
      .Pass()
      .Expect("Pending; 1 Staging L1,L2; sent L1 L2")
      .See(In(1, 1, NodePhase::kRunning))
      .Settle()
      .Expect("Running; 1 Running L1,L2");
}

TEST(ReconcileTest, ANodeThatIsDoneEarlyDoesNotKeepTheJobPending) {
  Story(2)
      .Pass()
      .See(End(1, 0, EndReason::kCompleted), In(1, 1, NodePhase::kRunning))
      .Settle()
      .Expect("Running; 1 Running L1,L2; sent L1 L2");
}

TEST(ReconcileTest, SucceedsWhenAllNodesCompleted) {
  Running(2)
      .See(End(1, 1, EndReason::kCompleted))
      .Settle()
      .Expect("Running; 1 Running L1,L2")
      .See(End(1, 0, EndReason::kCompleted))
      .Settle()
      .Expect("Succeeded (Completed); 1 Ended L1,L2 (Completed); L1 done; L2 done");
}

TEST(ReconcileTest, AnEndedJobDoesNothingButClearUp) {
  Story s = Running();
  s.See(End(1, 0, EndReason::kCompleted)).Settle();
  const Job ended = s.job;
  s.See(After(30), NoticeOf(1, 0, 5)).Pass();
  EXPECT_FALSE(s.last.retire);
  EXPECT_TRUE(s.ended.empty()) << "it is given time to upload and to leave by itself";
  s.See(After(30)).Pass();
  EXPECT_EQ(s.ended, std::vector<std::string>{"m1"});
  s.See(Cancel(), End(1, 0, EndReason::kUserError, 3)).Pass();
  EXPECT_TRUE(s.last.retire);
  EXPECT_FALSE(s.last.changed);
  EXPECT_TRUE(s.last.send.empty());
  EXPECT_EQ(s.job.state, ended.state);
  EXPECT_EQ(s.job.launches.size(), ended.launches.size());
}

TEST(ReconcileTest, RetiresOnlyWhenTheProviderAnswered) {
  Story s = Running();
  s.See(End(1, 0, EndReason::kCompleted)).Settle();
  s.See(Vanishes(1), ProviderSilent()).Pass();
  EXPECT_FALSE(s.last.retire);
  s.See(ProviderSilent(false)).Pass();
  EXPECT_TRUE(s.last.retire);
}

// EC2 lists a machine for an hour after its end, and one that was just made only after a while.
TEST(ReconcileTest, AMachineThatIsListedAfterItsEndKeepsNothingOpen) {
  Story s = Running();
  s.seen.places.front().absent_means_gone = false;
  s.See(End(1, 0, EndReason::kCompleted)).Settle();
  s.seen.machines.at(0).state = MachineState::kGone;
  s.seen.machines.at(0).freed = true;
  s.ended.clear();
  s.See(After(3600)).Pass();
  EXPECT_TRUE(s.ended.empty());
  EXPECT_TRUE(s.last.retire);
}

TEST(ReconcileTest, RetiresOnlyWhenNoMachineCanTurnUpAnyMore) {
  Story s(1);
  s.seen.places.front().absent_means_gone = false;
  s.See(Withhold(1)).Pass();
  s.See(Cancel()).Settle();
  ASSERT_TRUE(IsFinal(s.job.state));
  EXPECT_FALSE(s.last.retire);
  s.See(After((kSendWithin + kAppearWithin).ms / 1000 + 1)).Pass();
  EXPECT_FALSE(s.last.retire) << "by one look";
  s.See(After(30)).Pass();
  EXPECT_TRUE(s.last.retire);
}

// Where a list is of this very moment a request may be on its way, too: its machine ends itself
// when it comes up, unless it can be stopped before.
TEST(ReconcileTest, RetiresWhileARequestMayBeOnItsWayWhereNothingIsStopped) {
  Story s(1);
  s.See(Withhold(1)).Pass();
  s.See(Cancel()).Settle();
  ASSERT_TRUE(IsFinal(s.job.state));
  EXPECT_TRUE(s.last.retire);
}

TEST(ReconcileTest, DoesNotRetireWhileAMachineMayComeThatIsStopped) {
  Story s(1);
  s.See(MayStop()).See(Withhold(1)).Pass();
  s.See(Cancel()).Settle();
  ASSERT_TRUE(IsFinal(s.job.state));
  EXPECT_FALSE(s.last.retire);
  s.See(Boots(1)).Pass();
  EXPECT_EQ(s.ended, std::vector<std::string>{"m1"});
  s.See(Vanishes(1)).Pass();
  EXPECT_FALSE(s.last.retire);
  s.See(After(kSendWithin.ms / 1000 + 1)).Pass();
  EXPECT_TRUE(s.last.retire);
}

TEST(ReconcileTest, RetiresAtOnceWhenARequestWasRefused) {
  Story s(1);
  s.See(MayStop()).See(Withhold(1)).Pass();
  s.See(Outcome(1, No(RefusalClass::kInvalid))).Settle();
  ASSERT_TRUE(IsFinal(s.job.state));
  EXPECT_TRUE(s.last.retire);
}

// ---- cancel, in every state ----

TEST(ReconcileTest, CancelBeforeAnything) {
  Story(1).See(Cancel()).Settle().Expect("Cancelled (Cancelled)");
}

TEST(ReconcileTest, CancelWhileTheMachineIsAskedFor) {
  Story(1)
      .See(Withhold(1))
      .Pass()
      .Expect("Pending; 1 Staging L1; sent L1")
      .See(Cancel())
      .Pass()
      .Expect("Stopping; 1 Staging L1 (Cancelled)")
      .Settle()
      .Expect("Cancelled (Cancelled); 1 Ended L1 (Cancelled); L1 superseded");
}

TEST(ReconcileTest, CancelWhileTheMachineBootsEndsItAtOnceAndThenTheJob) {
  Story(1)
      .Pass()
      .See(Boots(1), Cancel())
      .Pass(2)
      .Expect("Stopping; 1 Staging L1 (Cancelled); L1 superseded; sent L1")
      .Settle()
      .Expect("Cancelled (Cancelled); 1 Ended L1 (Cancelled); ended m1");
}

TEST(ReconcileTest, CancelFromElsewhereWaitsForANodeThatHasReported) {
  Story s(1);
  s.Pass().See(AllRun()).Pass();
  s.seen.places[0].known = false;
  s.seen.places[0].elsewhere = true;
  s.seen.machines.clear();
  s.See(Cancel()).Settle().See(After(60)).Settle();
  s.Expect("Stopping; 1 Running L1 (Cancelled); sent L1");
}

TEST(ReconcileTest, CancelWaitsForNodesThatHaveReported) {
  for (const NodePhase phase : {NodePhase::kWaiting, NodePhase::kStaging, NodePhase::kReady,
                                NodePhase::kRunning, NodePhase::kStopping}) {
    Story(1)
        .Pass()
        .See(In(1, 0, phase))
        .Pass()
        .See(Cancel())
        .Settle()
        .Expect("Stopping; 1 " + std::string(phase == NodePhase::kRunning ? "Running" : "Staging") +
                " L1 (Cancelled); sent L1")
        .See(Told(1, 0))
        .Settle()
        .Expect("Cancelled (Cancelled); 1 Ended L1 (Cancelled); L1 done");
  }
}

TEST(ReconcileTest, CancelWhileDrainingEndsBothAttempts) {
  Running()
      .See(NoticeOf(1, 0, 120))
      .Pass()
      .Expect("Running; 1 Draining L1; 2 Provisioning L2; sent L2")
      .See(Cancel())
      .Pass()
      .See(Told(1, 0))
      .Settle()
      .Expect("Cancelled (Cancelled); 2 Ended L2 (Cancelled); L1 done; L2 done; ended m2");
}

TEST(ReconcileTest, CancelWhileARetryWaits) {
  Story s = Running();
  s.See(End(1, 0, EndReason::kNodeLost)).Pass();
  s.job.retry_after = s.seen.now + Duration::Minutes(5);
  s.job.attempts.back().state = AttemptState::kProvisioning;
  s.See(Cancel()).Settle();
  EXPECT_EQ(s.job.state, JobState::kCancelled);
}

TEST(ReconcileTest, CancelDoesNotUndoAResult) {
  Running()
      .See(Cancel(), End(1, 0, EndReason::kCompleted))
      .Settle()
      .Expect("Succeeded (Completed); 1 Ended L1 (Completed); L1 done");
  Running()
      .See(End(1, 0, EndReason::kUserError, 3), Cancel())
      .Settle()
      .Expect("Cancelled (Cancelled); 1 Ended L1 (Cancelled); L1 done");
}

TEST(ReconcileTest, CancelInsteadOfARetry) {
  Running(2)
      .See(IsGone(2))
      .Pass(2)
      .Expect("Running; 1 Running L1,L2 (NodeLost); L2 lost; ended m2")
      .See(Cancel())
      .Pass()
      .See(Told(1, 0))
      .Settle()
      .Expect("Cancelled (Cancelled); 1 Ended L1,L2 (NodeLost); L1 done");
}

// ---- machines that do not come ----

TEST(ReconcileTest, NoCapacityIsWaitingAndIsAskedForAgain) {
  Story(1)
      .See(Outcome(1, No(RefusalClass::kCapacity)))
      .Pass(2)
      .Expect("Waiting; 1 Staging L1; sent L1")
      .See(After(4))
      .Settle()
      .Expect("Waiting; 1 Staging L1; sent L1")
      .See(AllRun(), Boots(1))
      .Pass()
      .Expect("Running; 1 Running L1");
}

TEST(ReconcileTest, ASuccessorWithoutCapacityDoesNotHideThatTheProgramRuns) {
  Story s = Running();
  s.See(NoticeOf(1, 0, 120), Outcome(2, No(RefusalClass::kCapacity)))
      .Pass(2)
      .Expect("Running; 1 Draining L1; 2 Provisioning L2; sent L2");
  s.See(NoticeOf(1, 0, -1))
      .Settle()
      .Expect(
          "Running; 1 Running L1; 2 Ended L2 (Cancelled); "
          "L2 superseded");
}

TEST(ReconcileTest, AMarketThatIsEmptyForDaysIsNoFailure) {
  Story s(1);
  for (int launch = 1; launch < 100; ++launch) s.See(Withhold(launch));
  for (int i = 0; i < 60; ++i)
    s.See(Outcome(i + 1, No(RefusalClass::kCapacity)), After(700)).Settle();
  EXPECT_EQ(s.job.state, JobState::kWaiting);
  EXPECT_GT(s.job.launches.size(), 50U);
  EXPECT_LE(s.job.launches.size(), 62U) << "one launch in ten minutes, not one a pass";
}

TEST(ReconcileTest, NeverCameIsSaidOnlyWhenItCanNotComeAnyMore) {
  Story(1)
      .See(Withhold(1), Withhold(2))
      .Pass()
      .See(After(659))
      .Pass()
      .Expect("Pending; 1 Staging L1; sent L1")
      .See(After(2))
      .Settle()
      .Expect("Pending; 1 Ended L1 (NodeLost); 2 Staging L2; L1 never-came; sent L2");
}

TEST(ReconcileTest, RefusedEndsTheJob) {
  for (const RefusalClass what : {RefusalClass::kDenied, RefusalClass::kInvalid}) {
    Story(1)
        .See(Outcome(1, No(what)))
        .Settle()
        .Expect("Failed (LaunchRefused); 1 Ended L1 (LaunchRefused); L1 refused; sent L1");
  }
}

TEST(ReconcileTest, WhoMayNotAskLeavesItToOthers) {
  Story s(1);
  s.See(Outcome(1, No(RefusalClass::kDenied), false))
      .Pass(5)
      .Expect("Pending; 1 Staging L1; sent L1");
  ASSERT_TRUE(s.job.requests[0].refusal.has_value());
  EXPECT_EQ(s.job.requests[0].refusal->what, RefusalClass::kDenied);
  s.answers.clear();
  s.withheld.clear();
  s.See(After(2)).Pass().Expect("Pending; 1 Staging L1");
  s.See(After(2)).Pass().Expect("Pending; 1 Staging L1; sent L1");
  s.See(AllRun()).Pass().Expect("Running; 1 Running L1");
}

TEST(ReconcileTest, AskingAgainIsPaced) {
  Story s(1);
  s.See(Withhold(1)).Pass().Expect("Pending; 1 Staging L1; sent L1");
  int sent = 0;
  for (int second = 1; second <= 600; ++second) {
    s.See(After(1)).Pass();
    sent += static_cast<int>(s.last.send.size());
  }
  EXPECT_EQ(s.job.requests[0].tries, 1 + sent);
  EXPECT_EQ(sent, 13) << "after 3, 6, 12, 24 and 48 seconds, then once a minute";
}

TEST(ReconcileTest, ASilentProviderHidesNothingOfTheOthers) {
  Story s = Running(2);
  s.job.requests[1].ask.place.provider = "other";
  s.seen.places.push_back({"other", false, true});
  s.See(IsGone(1), Vanishes(2))
      .Pass(2)
      .Expect("Running; 1 Running L1,L2 (NodeLost); L1 lost; ended m1");
  s.See(Told(1, 1)).Settle().Expect("Running; 1 Ended L1,L2 (NodeLost); 2 Staging L3,L2; sent L3");
}

TEST(ReconcileTest, RefusedToOneObserverWhileTheMachineRunsMeansNothing) {
  Running().See(Outcome(1, No(RefusalClass::kDenied))).Settle().Expect("Running; 1 Running L1");
}

TEST(ReconcileTest, AMachineThatCameAndWentBetweenTwoLooksIsLost) {
  Story(1)
      .See(Outcome(1, No(RefusalClass::kOver)))
      .Settle()
      .Expect("Pending; 1 Ended L1 (NodeLost); 2 Staging L2; L1 lost; sent L1 L2");
}

// As where somebody's credentials have expired while the job trained for hours: a job that has had
// machines does not end by it.
TEST(ReconcileTest, WhatIsDeniedToItsSubmitterAfterOthersCameIsWaitedFor) {
  Story s = Running();
  s.See(NoticeOf(1, 0, 120)).Pass();
  s.See(Vanishes(2), Outcome(2, No(RefusalClass::kDenied))).Pass(10);
  EXPECT_FALSE(s.job.requests[1].refusal->final);
  s.See(End(1, 0, EndReason::kInterrupted)).Pass(10);
  EXPECT_FALSE(IsFinal(s.job.state));
  s.answers.clear();
  s.withheld.clear();
  s.See(After(70)).Pass().See(AllRun()).Pass(2);
  EXPECT_EQ(s.job.state, JobState::kRunning);
  EXPECT_EQ(s.job.launches.size(), 2U);
}

// A notice is acted on before anybody has listed the machines.
TEST(ReconcileTest, WhatHasReportedHasComeThoughNobodyHasListedIt) {
  Story s = Running();
  s.job.launches[0].instance_id.clear();
  s.seen.machines.clear();
  s.seen.places[0].known = false;
  s.See(NoticeOf(1, 0, 120), Vanishes(2), Outcome(2, No(RefusalClass::kDenied))).Pass();
  ASSERT_EQ(s.job.requests.size(), 2U);
  ASSERT_TRUE(s.job.requests[1].refusal.has_value());
  EXPECT_FALSE(s.job.requests[1].refusal->final);
}

// The same of one that has ended since, of machines that nobody may list.
TEST(ReconcileTest, WhatHasTrainedHasHadMachinesAlsoOnceItHasEnded) {
  Story s = Running();
  s.job.launches[0].instance_id.clear();
  s.seen.machines.clear();
  s.seen.places[0].known = false;
  s.See(Outcome(2, No(RefusalClass::kDenied)), NoticeOf(1, 0, 120));
  s.See(End(1, 0, EndReason::kInterrupted)).Pass(3);
  ASSERT_EQ(s.job.requests.size(), 2U);
  ASSERT_TRUE(s.job.requests[1].refusal.has_value());
  EXPECT_FALSE(s.job.requests[1].refusal->final);
  EXPECT_FALSE(IsFinal(s.job.state));
}

TEST(ReconcileTest, ARefusedSuccessorIsNotAskedForAgainAndAgain) {
  Story s = Running();
  s.See(NoticeOf(1, 0, 120)).Pass();
  s.See(Vanishes(2), Outcome(2, No(RefusalClass::kInvalid))).Pass(10);
  EXPECT_EQ(s.job.launches.size(), 2U);
  s.Expect("Running; 1 Draining L1; 2 Provisioning L2; L2 refused; sent L2");
  s.See(End(1, 0, EndReason::kInterrupted))
      .Settle()
      .Expect("Failed (LaunchRefused); 2 Ended L2 (LaunchRefused); L1 interrupted");
}

TEST(ReconcileTest, AMachineThatNeverReportsIsGivenUp) {
  Story(1)
      .Pass()
      .See(Boots(1), After(1200))
      .Settle()
      .Expect("Pending; 1 Staging L1; sent L1")
      .See(After(1))
      .Pass(2)
      .Expect("Pending; 1 Staging L1 (NodeLost); L1 lost; ended m1")
      .Settle()
      .Expect("Pending; 1 Ended L1 (NodeLost); 2 Staging L2; sent L2");
}

TEST(ReconcileTest, MachinesThatAreNoneOfOursAreLeftAlone) {
  Story s = Running();
  s.seen.machines.push_back({"stranger", 77, MachineState::kRunning, ""});
  s.See(End(1, 0, EndReason::kCompleted)).Settle();
  s.See(After(120)).Pass();
  EXPECT_EQ(s.ended, std::vector<std::string>{"m1"});
}

TEST(ReconcileTest, ARecordWithTooFewLaunchesIsSurvived) {
  Story s = Running(2);
  s.job.attempts[0].launches.pop_back();
  s.See(End(1, 0, EndReason::kNodeLost)).Settle();
  EXPECT_EQ(s.job.attempts.back().launches.size(), 2U);
}

}  // namespace
}  // namespace stoker::story
