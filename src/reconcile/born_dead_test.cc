// SPDX-License-Identifier: Apache-2.0
// Machines that were accepted and died before they were up.
#include <gtest/gtest.h>

#include "policy/retry.h"
#include "test/kit/story.h"

namespace stoker::story {
namespace {

Refusal NoRoomAfterAll() { return No(RefusalClass::kCapacity, RefusalScope::kZone); }

Offer At(const std::string& zone) {
  Offer offer;
  offer.ask.place.zone = zone;
  return offer;
}

TEST(BirthsTest, ItsRequestIsRefusedAndNothingWasLost) {
  Story s;
  s.Pass().See(DiesAtBirth(1, NoRoomAfterAll())).Pass();
  s.Expect("Pending; 1 Staging L1 (NodeLost); L1 never-came; sent L1");
  const Refusal& late = *s.job.requests[0].refusal;
  EXPECT_EQ(late.what, RefusalClass::kCapacity);
  EXPECT_EQ(late.scope, RefusalScope::kZone);
  EXPECT_EQ(late.at, s.seen.now);
  EXPECT_NE(FindLaunch(s.job, 1)->close_why.find(late.message), std::string::npos);
}

TEST(BirthsTest, ItIsAskedForAgainAtThePaceOfSends) {
  Story s;
  s.Pass().See(DiesAtBirth(1, NoRoomAfterAll())).Settle();
  EXPECT_EQ(s.job.state, JobState::kWaiting);
  s.Expect("Waiting; 1 Ended L1 (NodeLost); 2 Staging L2; L1 never-came; sent L1");
  s.See(After(59)).Settle().Expect("Waiting; 1 Ended L1 (NodeLost); 2 Staging L2");
  s.See(After(1)).Pass().Expect("Waiting; 1 Ended L1 (NodeLost); 2 Staging L2; sent L2");
  s.See(AllRun(2)).Pass().Expect("Running; 1 Ended L1 (NodeLost); 2 Running L2");
}

TEST(BirthsTest, AnyNumberOfThemIsNoFailure) {
  Story s;
  s.Pass();
  for (int launch = 1; launch < 3 * kMostLossesWithoutProgress; ++launch) {
    s.See(DiesAtBirth(launch, NoRoomAfterAll())).Settle();
    s.See(After(481)).Pass();
    ASSERT_FALSE(IsFinal(s.job.state)) << launch;
  }
  EXPECT_EQ(s.job.error_restarts, 0);
}

// Each try leaves machines that are listed for an hour, and launches: of a thousand slots, a
// thousand.
TEST(BirthsTest, AreAskedForMoreAndMoreRarelyAndFolded) {
  constexpr int kNodes = 40;
  Story s(kNodes);
  std::map<int, WallTime> died;
  size_t most = 0;
  for (int minute = 0; minute < 3 * 60; ++minute) {
    s.See(After(60)).Pass(3);
    for (const Launch& launch : s.job.launches) {
      const Request& request = RequestOf(s.job, launch);
      if (launch.closed || request.tries == 0) continue;
      s.See(DiesAtBirth(launch.number, NoRoomAfterAll()));
      died[launch.number] = s.seen.now;
    }
    std::erase_if(s.seen.machines, [&](const MachineSeen& m) {
      return s.seen.now - died[m.launch] > Duration::Hours(1);
    });
    most = std::max(most, s.job.launches.size());
  }
  EXPECT_FALSE(IsFinal(s.job.state));
  EXPECT_GT(s.job.folded->launches, 15 * kNodes);
  EXPECT_LT(s.job.folded->launches, 30 * kNodes) << "once in eight minutes";
  EXPECT_LE(most, 8U * kNodes);
}

TEST(BirthsTest, AnotherPlaceIsAskedAtOnce) {
  Story s;
  s.job.offers = {At("a"), At("b")};
  s.Pass().See(DiesAtBirth(1, NoRoomAfterAll())).Pass(2);
  ASSERT_EQ(s.job.requests.size(), 2U);
  EXPECT_EQ(s.job.requests[1].ask.place.zone, "b");
  EXPECT_FALSE(s.job.requests[1].next_try > s.seen.now + Duration::Seconds(5));
}

TEST(BirthsTest, WhatCanNeverBeMadeEndsTheJob) {
  for (const RefusalClass what : {RefusalClass::kInvalid, RefusalClass::kDenied}) {
    Story s;
    s.Pass().See(DiesAtBirth(1, No(what, RefusalScope::kRequest))).Settle();
    s.Expect("Failed (LaunchRefused); 1 Ended L1 (LaunchRefused); L1 refused; sent L1");
  }
}

// A no for good was heard before: what it says does not get better by dying of something else.
TEST(BirthsTest, WhatWasRefusedForGoodStaysSo) {
  Story s;
  s.See(Outcome(1, No(RefusalClass::kInvalid))).Pass();
  s.See(DiesAtBirth(1, NoRoomAfterAll())).Settle();
  EXPECT_EQ(FindLaunch(s.job, 1)->close_reason, CloseReason::kRefused);
  EXPECT_EQ(s.job.state, JobState::kFailed) << "or it is asked for again at once, for ever";
  EXPECT_EQ(s.job.launches.size(), 1U);
}

// The attempt has begun, as its machine was listed: the next one moves.
TEST(BirthsTest, WhatCanNeverBeMadeHereIsAskedForElsewhere) {
  Story s;
  s.job.offers = {At("a"), At("b")};
  s.Pass(2).See(DiesAtBirth(1, No(RefusalClass::kInvalid, RefusalScope::kZone))).Settle();
  EXPECT_FALSE(IsFinal(s.job.state));
  EXPECT_EQ(s.job.requests.back().ask.place.zone, "b");
}

TEST(BirthsTest, OneThatHasReportedWasNotBornDead) {
  Story s;
  s.Pass().See(AllRun()).Pass().See(DiesAtBirth(1, NoRoomAfterAll())).Pass();
  EXPECT_EQ(FindLaunch(s.job, 1)->close_reason, CloseReason::kLost);
  EXPECT_FALSE(s.job.requests[0].refusal.has_value());
}

TEST(BirthsTest, WhatHasNoSuchReasonIsLost) {
  Story s;
  s.Pass().See(IsGone(1)).Pass();
  EXPECT_EQ(FindLaunch(s.job, 1)->close_reason, CloseReason::kLost);
}

// Who asks again is told that it is over, before a list that is behind says of what.
TEST(BirthsTest, WhatIsOverIsJudgedOnceTheListHasSpoken) {
  Story s;
  s.See(ListsMayLag(), Outcome(1, No(RefusalClass::kOver))).Pass(3);
  EXPECT_FALSE(FindLaunch(s.job, 1)->closed);
  s.See(DiesAtBirth(1, NoRoomAfterAll())).Pass();
  EXPECT_EQ(FindLaunch(s.job, 1)->close_reason, CloseReason::kNeverCame);
  Story never;
  never.See(ListsMayLag(), Outcome(1, No(RefusalClass::kOver))).Pass().See(After(601)).Pass();
  EXPECT_EQ(FindLaunch(never.job, 1)->close_reason, CloseReason::kLost);
}

// Who closes it has read no report of it; its node wrote one and read the record just before.
TEST(BirthsTest, WhoseFirstReportCrossedItsRefusalMayHaveBegun) {
  Story s;
  s.See(ListsMayLag(), Outcome(1, No(RefusalClass::kInvalid))).Pass(2);
  ASSERT_EQ(FindLaunch(s.job, 1)->close_reason, CloseReason::kRefused);
  s.See(In(1, 0, NodePhase::kRunning)).Settle();
  EXPECT_NE(s.job.attempts[0].state, AttemptState::kEnded) << "its program may run";
  s.See(IsGone(1)).Settle();
  EXPECT_EQ(s.job.attempts[0].state, AttemptState::kEnded);
}

// What replaces it is asked for where the others are.
TEST(BirthsTest, TheOthersOfItsGangStay) {
  Story s(3);
  s.See(TakesGangs(true)).Pass().See(DiesAtBirth(2, NoRoomAfterAll())).Pass(2);
  s.See(Told(1, 0), Told(1, 2)).Settle();
  EXPECT_TRUE(FindLaunch(s.job, 2)->closed);
  EXPECT_EQ(s.job.attempts.back().launches, (std::vector<int>{1, 4, 3}));
}

}  // namespace
}  // namespace stoker::story
