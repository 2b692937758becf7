// SPDX-License-Identifier: Apache-2.0
// Jobs that their owner wants at another place.
#include <gtest/gtest.h>

#include "test/kit/story.h"

namespace stoker::story {
namespace {

Offer From(const std::string& provider) {
  Offer offer;
  offer.ask.place.provider = provider;
  return offer;
}

Fact MoveTo(const std::string& provider, bool waits) {
  return [=](Story& s) {
    Move move;
    move.at = s.seen.now;
    move.by = "ann";
    move.to = provider;
    move.lead = Duration::Seconds(30);
    move.waits = waits;
    move.offers = {From(provider)};
    AskToMove(s.job, std::move(move));
    ++s.job.rev;
  };
}

Fact GivesUp() {
  return [](Story& s) {
    s.job.move->state = MoveState::kGivingUp;
    s.job.move->why = "given up by ann";
    ++s.job.rev;
  };
}

// The node has read that it is to move.
Fact Heeds(int attempt, int rank) {
  return [=](Story& s) {
    NodeReport& report = s.Report(attempt, rank);
    report.notice = Notice{kMoveAction, s.seen.now + Duration::Seconds(30)};
    report.phase = NodePhase::kDraining;
    ++report.seq;
  };
}

Story InReach(int nodes = 1) {
  Story s(nodes);
  s.seen.places = {{"local", true, true}, {"gce", true, true}, {"ec2", true, true}};
  return s;
}

Story TrainsHere(int nodes = 1) {
  Story s = InReach(nodes);
  s.Pass().See(AllRun()).Pass().Expect(nodes == 1 ? "Running; 1 Running L1; sent L1"
                                                  : "Running; 1 Running L1,L2; sent L1 L2");
  return s;
}

std::string ProviderOf(const Story& s, int launch) {
  return RequestOf(s.job, *FindLaunch(s.job, launch)).ask.place.provider;
}

TEST(MovesTest, ItTrainsOnUntilTheNewMachineIsThere) {
  Story s = TrainsHere();
  s.See(MoveTo("gce", true)).Settle();
  s.Expect("Running; 1 Running L1; 2 Provisioning L2; sent L2");
  EXPECT_EQ(ProviderOf(s, 2), "gce");
  EXPECT_EQ(s.job.move->state, MoveState::kAsked);
  s.See(In(2, 0, NodePhase::kWaiting)).Settle();
  s.Expect("Running; 1 Running L1; 2 Provisioning L2");
  EXPECT_EQ(s.job.move->state, MoveState::kTold);
  s.See(Heeds(1, 0)).Settle().Expect("Running; 1 Draining L1; 2 Provisioning L2");
  s.See(End(1, 0, EndReason::kMoved), Committed({"1-4", "1-3"})).Settle();
  s.Expect("Running; 1 Ended L1 (Moved); 2 Staging L2 from 1-4; L1 moved");
  s.See(In(2, 0, NodePhase::kRunning), After(70)).Settle();
  s.Expect("Running; 1 Ended L1 (Moved); 2 Running L2 from 1-4; ended m1");
  EXPECT_EQ(s.job.move->state, MoveState::kArrived);
  ASSERT_EQ(s.job.offers.size(), 1U);
  EXPECT_EQ(s.job.offers[0].ask.place.provider, "gce");
  // What follows is asked for where it is now.
  s.See(IsGone(2)).Settle();
  EXPECT_EQ(ProviderOf(s, 3), "gce");
}

TEST(MovesTest, OrItIsToldAtOnce) {
  Story s = TrainsHere();
  s.See(MoveTo("gce", false), Withhold(2)).Settle();
  EXPECT_EQ(s.job.move->state, MoveState::kTold);
  s.See(Heeds(1, 0)).Settle();
  s.See(End(1, 0, EndReason::kMoved), Committed({"1-4"})).Settle();
  s.Expect("Running; 1 Ended L1 (Moved); 2 Staging L2 from 1-4; L1 moved; sent L2");
}

TEST(MovesTest, OfSeveralNodesNoneStays) {
  Story s = TrainsHere(2);
  s.See(MoveTo("gce", true)).Settle();
  s.Expect("Running; 1 Running L1,L2; 2 Provisioning L3,L4; sent L3 L4");
  s.See(In(2, 0, NodePhase::kWaiting)).Settle();
  EXPECT_EQ(s.job.move->state, MoveState::kAsked);
  s.See(In(2, 1, NodePhase::kWaiting)).Settle();
  EXPECT_EQ(s.job.move->state, MoveState::kTold);
}

TEST(MovesTest, WhatWaitsForAMachineIsAskedForThere) {
  Story s = InReach();
  s.See(Withhold(1)).Settle().Expect("Pending; 1 Staging L1; sent L1");
  s.See(MoveTo("gce", true)).Settle();
  s.Expect("Pending; 1 Ended L1 (Moved); 2 Staging L2; L1 moved; sent L2");
  EXPECT_EQ(ProviderOf(s, 2), "gce");
}

TEST(MovesTest, WhatQueuesIsWithdrawn) {
  Story s = InReach();
  s.Pass().See(Queues(1)).Settle();
  s.See(MoveTo("gce", true)).Settle();
  EXPECT_TRUE(FindLaunch(s.job, 1)->closed);
  EXPECT_EQ(FindLaunch(s.job, 1)->close_reason, CloseReason::kMoved);
  EXPECT_EQ(s.ended, std::vector<std::string>{"m1"});
}

TEST(MovesTest, BeforeTheFirstLookToo) {
  Story s = InReach();
  s.See(MoveTo("gce", true)).Settle();
  EXPECT_EQ(ProviderOf(s, 1), "gce");
  s.See(AllRun()).Settle();
  EXPECT_EQ(s.job.move->state, MoveState::kArrived);
}

TEST(MovesTest, APlaceThatRefusesCostsNothing) {
  Story s = TrainsHere();
  s.See(MoveTo("gce", true), Outcome(2, No(RefusalClass::kDenied, RefusalScope::kAccount)));
  s.Settle().Expect("Running; 1 Running L1; 2 Ended L2 (Cancelled); L2 refused; sent L2");
  EXPECT_EQ(s.job.move->state, MoveState::kGivenUp);
  EXPECT_NE(s.job.move->why.find("the provider's words"), std::string::npos);
  // Afterwards it is as if nobody had asked.
  s.See(NoticeOf(1, 0, 120)).Settle();
  EXPECT_EQ(ProviderOf(s, 3), "local");
}

TEST(MovesTest, OneThatRefusesLateSendsItBack) {
  Story s = TrainsHere();
  s.See(MoveTo("gce", false), Withhold(2)).Settle();
  s.See(Heeds(1, 0)).Settle();
  s.See(End(1, 0, EndReason::kMoved), Committed({"1-4"})).Settle();
  s.See(Outcome(2, No(RefusalClass::kInvalid, RefusalScope::kRequest))).Settle();
  EXPECT_EQ(s.job.move->state, MoveState::kGivenUp);
  ASSERT_FALSE(IsFinal(s.job.state));
  const Attempt& last = s.job.attempts.back();
  EXPECT_EQ(last.restore, "1-4");
  EXPECT_EQ(ProviderOf(s, last.launches[0]), "local");
}

TEST(MovesTest, ItCanBeGivenUp) {
  Story s = TrainsHere();
  s.See(MoveTo("gce", true)).Settle();
  s.See(GivesUp()).Settle();
  s.Expect("Running; 1 Running L1; 2 Ended L2 (Cancelled); L2 superseded; sent L2; ended m2");
  EXPECT_EQ(s.job.move->state, MoveState::kGivenUp);
}

TEST(MovesTest, AlsoOnceItsNodesWereTold) {
  Story s = TrainsHere();
  s.See(MoveTo("gce", false)).Settle();
  s.See(Heeds(1, 0)).Settle();
  s.See(GivesUp()).Settle();
  EXPECT_EQ(s.job.attempts[0].state, AttemptState::kRunning);
  EXPECT_EQ(s.job.attempts.back().state, AttemptState::kEnded);
}

TEST(MovesTest, AndWhatHadStoppedBeginsAgainWhereItWas) {
  Story s = TrainsHere();
  s.See(MoveTo("gce", false), Withhold(2)).Settle();
  s.See(Heeds(1, 0)).Settle();
  s.See(GivesUp(), End(1, 0, EndReason::kMoved), Committed({"1-4"})).Settle();
  const Attempt& last = s.job.attempts.back();
  EXPECT_EQ(last.state, AttemptState::kStaging);
  EXPECT_EQ(last.restore, "1-4");
  EXPECT_EQ(last.launches, std::vector<int>{1}) << "its machine is there";
}

TEST(MovesTest, AnotherMoveTakesThePlaceOfTheFirst) {
  Story s = TrainsHere();
  s.See(MoveTo("gce", true)).Settle();
  s.See(MoveTo("ec2", true)).Settle();
  s.Expect("Running; 1 Running L1; 2 Provisioning L3; L2 moved; sent L2 L3; ended m2");
  EXPECT_EQ(ProviderOf(s, 3), "ec2");
  EXPECT_TRUE(s.job.offers.empty());
}

TEST(MovesTest, APlaceThatHasRefusedIsNoneToComeBackTo) {
  Story s = TrainsHere();
  s.See(MoveTo("gce", false), Withhold(2)).Settle().See(Heeds(1, 0)).Settle();
  s.See(End(1, 0, EndReason::kMoved), Committed({"1-4"})).Settle();
  s.Expect("Running; 1 Ended L1 (Moved); 2 Staging L2 from 1-4; L1 moved; sent L2");
  // Its owner wants it there once more, before anybody has acted on the refusal.
  s.See(Outcome(2, No(RefusalClass::kInvalid, RefusalScope::kRequest)));
  s.See(MoveTo("ec2", false), Withhold(3)).Settle();
  s.See(Outcome(s.job.launches.back().number, No(RefusalClass::kInvalid, RefusalScope::kRequest)));
  s.Settle();
  EXPECT_EQ(s.job.move->state, MoveState::kGivenUp);
  ASSERT_FALSE(IsFinal(s.job.state));
  EXPECT_TRUE(s.job.offers.empty());
  EXPECT_EQ(ProviderOf(s, s.job.attempts.back().launches[0]), "local");
}

// Node 0 has its machine there, and node 1 is refused one.
TEST(MovesTest, OfAPlaceThatRefusesOneNodeNoneIsKept) {
  Story s = TrainsHere(2);
  s.See(MoveTo("gce", false), Withhold(4)).Settle();
  s.See(Heeds(1, 0), Heeds(1, 1)).Settle();
  s.See(End(1, 0, EndReason::kMoved), End(1, 1, EndReason::kMoved), Committed({"1-4"})).Settle();
  EXPECT_EQ(s.job.attempts.back().state, AttemptState::kStaging);
  s.See(Outcome(4, No(RefusalClass::kInvalid, RefusalScope::kRequest))).Settle();
  s.See(Told(2, 0)).Settle();
  EXPECT_EQ(s.job.move->state, MoveState::kGivenUp);
  for (const int launch : s.job.attempts.back().launches) {
    EXPECT_EQ(ProviderOf(s, launch), "local");
  }
}

TEST(MovesTest, AfterTheFirstHasBegunItGoesBackThere) {
  Story s = TrainsHere();
  s.See(MoveTo("gce", true)).Settle();
  s.See(In(2, 0, NodePhase::kWaiting)).Settle().See(Heeds(1, 0)).Settle();
  s.See(End(1, 0, EndReason::kMoved), Committed({"1-4"})).Settle();
  s.See(MoveTo("ec2", true), Outcome(3, No(RefusalClass::kInvalid, RefusalScope::kRequest)));
  s.See(In(2, 0, NodePhase::kStaging)).Settle();
  EXPECT_EQ(s.job.move->state, MoveState::kGivenUp);
  ASSERT_EQ(s.job.offers.size(), 1U);
  EXPECT_EQ(s.job.offers[0].ask.place.provider, "gce");
  EXPECT_EQ(s.job.attempts[1].state, AttemptState::kStaging);
}

TEST(MovesTest, ItsPlatformMayTakeItFirst) {
  Story s = TrainsHere();
  s.See(MoveTo("gce", true), Withhold(2)).Settle();
  s.See(NoticeOf(1, 0, 120)).Settle().Expect("Running; 1 Draining L1; 2 Provisioning L2; sent L2");
  s.See(NoticeOf(1, 0, -1)).Settle().Expect("Running; 1 Running L1; 2 Provisioning L2");
  s.See(IsGone(1), Committed({"1-2"})).Settle();
  s.Expect("Running; 1 Ended L1 (NodeLost); 2 Staging L2 from 1-2; L1 lost; ended m1");
}

TEST(MovesTest, OneThatDrainsAlreadyGoesThere) {
  Story s = TrainsHere();
  s.See(NoticeOf(1, 0, 120), Withhold(2)).Settle();
  s.See(MoveTo("gce", true)).Settle();
  s.Expect("Running; 1 Draining L1; 2 Provisioning L3; L2 moved; sent L2 L3");
  EXPECT_EQ(ProviderOf(s, 3), "gce");
}

TEST(MovesTest, WhatCompletesHasNoUseForIt) {
  Story s = TrainsHere();
  s.See(MoveTo("gce", true)).Settle();
  s.See(End(1, 0, EndReason::kCompleted)).Settle().See(After(70)).Settle();
  EXPECT_EQ(s.job.state, JobState::kSucceeded);
  EXPECT_EQ(s.ended, (std::vector<std::string>{"m2", "m1"}));
}

TEST(MovesTest, ACancelWins) {
  Story s = TrainsHere();
  s.See(MoveTo("gce", true)).Settle();
  s.See(Cancel()).Settle().See(Told(1, 0)).Settle().See(After(70)).Settle();
  EXPECT_EQ(s.job.state, JobState::kCancelled);
  EXPECT_EQ(s.ended, (std::vector<std::string>{"m2", "m1"}));
}

TEST(MovesTest, ARefusalOfThePlaceThatIsLeftDoesNotMatter) {
  Story s = InReach();
  s.See(Outcome(1, No(RefusalClass::kCapacity), false), Withhold(1)).Settle();
  s.See(MoveTo("gce", true), Outcome(1, No(RefusalClass::kInvalid), false)).Settle();
  ASSERT_FALSE(IsFinal(s.job.state));
  EXPECT_EQ(ProviderOf(s, s.job.attempts.back().launches[0]), "gce");
}

}  // namespace
}  // namespace stoker::story
