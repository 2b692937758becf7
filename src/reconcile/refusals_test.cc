// SPDX-License-Identifier: Apache-2.0
// What a provider says no to, and how: what kind of no, for how much, for how long.
#include <gtest/gtest.h>

#include "test/kit/story.h"

namespace stoker::story {
namespace {

Refusal Unsettled() { return No(RefusalClass::kNotYetConsistent, RefusalScope::kAccount); }

TEST(RefusalsTest, WhatTheProviderSaysGetsIntoTheRecord) {
  Story s;
  const Refusal told = No(RefusalClass::kCapacity, RefusalScope::kMarket, Duration::Seconds(40));
  s.See(Outcome(1, told)).Pass();
  const Refusal& kept = *s.job.requests[0].refusal;
  EXPECT_EQ(kept.what, RefusalClass::kCapacity);
  EXPECT_EQ(kept.scope, RefusalScope::kMarket);
  EXPECT_EQ(kept.wait, Duration::Seconds(40));
  EXPECT_EQ(kept.at, s.seen.now);
  EXPECT_EQ(kept.message, told.message);
}

TEST(RefusalsTest, AProviderThatSaysHowLongToWaitIsBelieved) {
  Story s;
  s.See(Outcome(1, No(RefusalClass::kThrottled, RefusalScope::kAccount, Duration::Seconds(40))));
  s.Pass().Expect("Pending; 1 Staging L1; sent L1");
  s.See(After(39)).Pass(2).Expect("Pending; 1 Staging L1");
  s.See(After(1)).Pass().Expect("Pending; 1 Staging L1; sent L1");
}

TEST(RefusalsTest, WaitsThatCannotBeAreNotBelieved) {
  for (const int64_t hours : {-5, 5'000}) {
    Story s;
    s.See(Outcome(1, No(RefusalClass::kQuota, RefusalScope::kRegion, Duration::Hours(hours))));
    s.Pass();
    EXPECT_EQ(s.job.requests[0].refusal->wait, Duration::Hours(hours < 0 ? 0 : 24));
  }
}

TEST(RefusalsTest, NoQuotaIsWaitingForCapacityToo) {
  Story s;
  s.See(Outcome(1, No(RefusalClass::kQuota, RefusalScope::kRegion))).Pass(2);
  EXPECT_EQ(s.job.state, JobState::kWaiting);
}

TEST(RefusalsTest, WhatIsNotYetConsistentIsAskedAgainSoonAndGiven) {
  Story s;
  s.See(Outcome(1, Unsettled())).Pass().Expect("Pending; 1 Staging L1; sent L1");
  s.See(After(10)).Pass();
  s.See(After(10)).Pass().Expect("Pending; 1 Staging L1; sent L1 L1");
  EXPECT_FALSE(s.job.requests[0].refusal->final);
  s.answers.clear();
  s.withheld.clear();
  s.See(After(10)).Pass().See(AllRun()).Pass().Expect("Running; 1 Running L1; sent L1");
}

TEST(RefusalsTest, WhatStaysInconsistentIsInvalid) {
  Story s;
  s.See(Outcome(1, Unsettled())).Pass();
  int sent = 0;
  for (int second = 1; second < 300; ++second) {
    s.See(After(1)).Pass();
    sent += static_cast<int>(s.last.send.size());
  }
  EXPECT_GE(sent, 28) << "every ten seconds";
  EXPECT_LE(sent, 31);
  EXPECT_EQ(s.job.requests[0].refusal->what, RefusalClass::kNotYetConsistent);
  s.See(After(12)).Settle();
  EXPECT_EQ(s.job.state, JobState::kFailed);
  EXPECT_EQ(s.job.result->reason, EndReason::kLaunchRefused);
  EXPECT_EQ(s.job.requests[0].refusal->what, RefusalClass::kInvalid);
  EXPECT_NE(s.job.result->why.find("still not known after 5m"), std::string::npos)
      << s.job.result->why;
}

// What stood in the way before that says nothing of it.
TEST(RefusalsTest, OnlyTheTimeSinceItWasFirstSaidCounts) {
  Story s;
  s.See(Outcome(1, No(RefusalClass::kCapacity))).Pass();
  for (int second = 0; second < 400; second += 5) s.See(After(5)).Pass();
  s.See(Outcome(1, Unsettled()));
  for (int second = 0; second < 120; second += 5) s.See(After(5)).Pass();
  EXPECT_EQ(s.job.requests[0].refusal->what, RefusalClass::kNotYetConsistent);
  EXPECT_EQ(s.job.requests.size(), 1U);
  EXPECT_FALSE(IsFinal(s.job.state));
}

// However often it was said before.
TEST(RefusalsTest, TheWaitThatIsToldLastIsKept) {
  Story s;
  s.See(Outcome(1, Unsettled())).Pass();
  for (int second = 0; second < 30; second += 5) s.See(After(5)).Pass();
  Refusal later = Unsettled();
  later.wait = Duration::Seconds(60);
  s.See(Outcome(1, later));
  int sent = 0;
  for (int second = 0; second < 55; second += 5) {
    s.See(After(5)).Pass();
    sent += static_cast<int>(s.last.send.size());
  }
  EXPECT_LE(sent, 1);
  EXPECT_EQ(s.job.requests[0].refusal->what, RefusalClass::kNotYetConsistent);
}

// Whoever looks twice an hour asks a request once, and the next one then.
TEST(RefusalsTest, WhatStaysInconsistentIsInvalidAlsoToWhoLooksRarely) {
  Story s;
  for (int launch = 1; launch < 9; ++launch) s.See(Outcome(launch, Unsettled()));
  s.Pass();
  EXPECT_EQ(s.job.requests[0].refusal->what, RefusalClass::kNotYetConsistent);
  for (int i = 0; i < 4; ++i) s.See(After(1'800)).Settle();
  EXPECT_EQ(s.job.state, JobState::kFailed);
  EXPECT_EQ(s.job.requests.size(), 2U);
}

// Long ago something was not known yet, and then it was.
TEST(RefusalsTest, WhatWasConsistentInTheEndSaysNothingOfTheNextTime) {
  Story s;
  s.See(Outcome(1, Unsettled())).Pass();
  s.answers.clear();
  s.withheld.clear();
  s.See(After(10)).Pass().See(AllRun()).Pass().Expect("Running; 1 Running L1; sent L1 L1");
  s.See(After(7'200), Outcome(2, Unsettled()), IsGone(1)).Settle();
  ASSERT_EQ(s.job.requests.size(), 2U);
  EXPECT_EQ(s.job.requests[1].refusal->what, RefusalClass::kNotYetConsistent);
  EXPECT_NE(s.job.state, JobState::kFailed);
}

Offer InMarket(const std::string& zone, const std::string& market) {
  Offer offer;
  offer.ask.place.zone = zone;
  offer.ask.market = market;
  return offer;
}

const Ask& AskedLast(const Story& s) { return s.job.requests.back().ask; }

// The same words, said of the zone or of the market: the next place is another.
TEST(RefusalsTest, TheScopeSaysWhereItIsAskedForNext) {
  for (const RefusalScope scope : {RefusalScope::kZone, RefusalScope::kMarket}) {
    Story s;
    s.job.offers = {InMarket("a", "spot"), InMarket("b", "spot"), InMarket("a", "on-demand")};
    s.See(Outcome(1, No(RefusalClass::kCapacity, scope))).Pass(3);
    ASSERT_EQ(s.job.requests.size(), 2U);
    const bool zone = scope == RefusalScope::kZone;
    EXPECT_EQ(AskedLast(s).place.zone, zone ? "b" : "a");
    EXPECT_EQ(AskedLast(s).market, zone ? "spot" : "on-demand");
  }
}

TEST(RefusalsTest, WhatIsNotYetConsistentMovesNowhere) {
  Story s;
  s.job.offers = {InMarket("a", "spot"), InMarket("b", "spot")};
  s.See(Outcome(1, Unsettled())).Pass();
  for (int i = 0; i < 20; ++i) s.See(After(10)).Pass();
  EXPECT_EQ(s.job.requests.size(), 1U);
  EXPECT_EQ(s.job.requests[0].tries, 21);
}

}  // namespace
}  // namespace stoker::story
