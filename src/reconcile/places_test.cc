// SPDX-License-Identifier: Apache-2.0
// Jobs whose machines can be had in more than one place.
#include <gtest/gtest.h>

#include "reconcile/test_story.h"

namespace stoker::story {
namespace {

Offer InZone(const std::string& zone) {
  Offer c;
  c.ask.place.zone = zone;
  return c;
}

Story Somewhere(int nodes = 1) {
  Story s(nodes);
  s.job.offers = {InZone("a"), InZone("b")};
  s.seen.places = {{"local", true, true}};
  return s;
}

std::string ZoneOf(const Story& s, int launch) {
  return RequestOf(s.job, *FindLaunch(s.job, launch)).ask.place.zone;
}

Fact NoRoomFor(int launch) { return Outcome(launch, No(RefusalClass::kCapacity), false); }
Fact ComesUp(int launch) {
  return [=](Story& s) { s.Machine(launch); };
}

TEST(PlacesTest, AnAttemptBeginsOnceItsMachinesHaveCome) {
  Story s = Somewhere();
  s.See(Withhold(1)).Pass().Expect("Pending; 1 Provisioning L1; sent L1");
  s.See(ComesUp(1)).Pass().Expect("Pending; 1 Staging L1");
  EXPECT_EQ(ZoneOf(s, 1), "a");
  EXPECT_EQ(s.job.requests[0].reason, "the first choice");
}

TEST(PlacesTest, AFullZoneIsLeftForAnother) {
  Story s = Somewhere();
  s.See(NoRoomFor(1)).Pass().Expect("Pending; 1 Provisioning L1; sent L1");
  s.Pass(2).Expect("Pending; 1 Staging L2; L1 never-came; sent L2");
  EXPECT_EQ(ZoneOf(s, 2), "b");
  EXPECT_EQ(s.job.requests[1].reason.rfind("not local a: ", 0), 0U) << s.job.requests[1].reason;
  EXPECT_NE(FindLaunch(s.job, 1)->close_why.find("another place"), std::string::npos);
}

TEST(PlacesTest, WhereAllAreFullTheFirstIsAskedAgain) {
  Story s = Somewhere();
  s.See(NoRoomFor(1), NoRoomFor(2));
  s.Pass(3);
  EXPECT_EQ(s.job.launches.size(), 2U);
  EXPECT_FALSE(s.job.launches[1].closed) << "it stays, and is asked for again at its pace";
  s.See(After(125)).Pass(2);
  ASSERT_EQ(s.job.launches.size(), 3U);
  EXPECT_EQ(ZoneOf(s, 3), "a");
}

TEST(PlacesTest, WhatIsRefusedForGoodEverywhereEndsTheJob) {
  Story s = Somewhere();
  s.See(Outcome(1, No(RefusalClass::kInvalid)), Outcome(2, No(RefusalClass::kInvalid))).Pass(8);
  EXPECT_EQ(s.job.state, JobState::kFailed);
  EXPECT_EQ(s.job.result->reason, EndReason::kLaunchRefused);
  EXPECT_EQ(s.job.launches.size(), 2U);
}

TEST(PlacesTest, AGangOfWhichOneIsRefusedForGoodDoesNotWaitForTheOthers) {
  Story s = Somewhere(2);
  s.See(Outcome(1, No(RefusalClass::kInvalid, RefusalScope::kAccount)), NoRoomFor(2)).Pass(8);
  EXPECT_EQ(s.job.state, JobState::kFailed);
  EXPECT_EQ(s.job.result->reason, EndReason::kLaunchRefused);
}

TEST(PlacesTest, AMachineThatCameAllTheSameIsKept) {
  Story s = Somewhere();
  s.See(NoRoomFor(1)).Pass().See(ComesUp(1)).Pass().Expect("Pending; 1 Staging L1; sent L1");
}

// One observer is given it, another is refused and says so later; a list with a hole in it comes
// between.
TEST(PlacesTest, WhatSomebodyHasMetIsNotAskedForElsewhere) {
  for (const RefusalClass what : {RefusalClass::kCapacity, RefusalClass::kInvalid}) {
    Story s = Somewhere();
    s.See(ListsMayLag(), NoRoomFor(1)).See(Queues(1)).Pass();
    EXPECT_EQ(FindLaunch(s.job, 1)->instance_id, "");
    s.Pass();
    EXPECT_EQ(FindLaunch(s.job, 1)->instance_id, "m1");
    s.job.requests[0].refusal = No(what);
    s.job.requests[0].refusal->final = what == RefusalClass::kInvalid;
    s.See(Vanishes(1)).Pass(3);
    EXPECT_FALSE(FindLaunch(s.job, 1)->closed) << Name(what);
    EXPECT_EQ(s.job.launches.size(), 1U);
  }
}

// Of its regions and zones, one that does not answer says nothing, and the others what they have.
TEST(PlacesTest, APartThatDoesNotAnswerHidesNothingOfTheRest) {
  const auto silent = [](const std::string& region, const std::string& zone) {
    return [=](Story& s) {
      s.seen.places.resize(1);
      s.seen.places.push_back(s.seen.places.front());
      s.seen.places.back().known = false;
      s.seen.places.back().region = region;
      s.seen.places.back().zone = zone;
    };
  };
  Story there = Somewhere();
  there.Pass(2).See(AllRun()).Pass().See(silent("", "a"), Vanishes(1)).Pass(3);
  EXPECT_FALSE(FindLaunch(there.job, 1)->closed) << "it is in that zone";
  there.See(silent("eu", "")).Pass(3);
  EXPECT_FALSE(FindLaunch(there.job, 1)->closed) << "its zone may be of that region";
  there.See(silent("", "b")).Pass(1);
  EXPECT_TRUE(FindLaunch(there.job, 1)->closed) << "it is elsewhere, and not listed";
}

TEST(PlacesTest, WhatNeedsNoPlaceIsNotHeldUpByIt) {
  Story s = Somewhere();
  s.Pass(2).See(AllRun()).Pass();
  PlaceSeen other = s.seen.places.front();
  other.known = false;
  other.zone = "b";
  s.seen.places.push_back(other);
  s.See(IsGone(1)).Pass(3);
  EXPECT_EQ(ZoneOf(s, 2), "a");
  EXPECT_EQ(s.job.attempts.back().state, AttemptState::kStaging);
}

TEST(PlacesTest, AProviderThatDoesNotAnswerIsLeftForAnother) {
  Story s = Somewhere();
  s.job.offers[1].ask.place.provider = "ec2";
  s.seen.places = {{"local", false, true}, {"ec2", true, true}};
  s.See(Withhold(1)).Pass().Expect("Pending; 1 Provisioning L1; sent L1");
  s.See(After(500)).Pass(3);
  EXPECT_EQ(s.job.launches.size(), 1U) << "it may have taken effect";
  s.See(After(200)).Pass(2);
  ASSERT_EQ(s.job.launches.size(), 2U);
  EXPECT_EQ(s.job.requests[0].refusal->what, RefusalClass::kUnanswered);
  EXPECT_EQ(s.job.requests[1].ask.place.provider, "ec2");
  EXPECT_EQ(s.job.requests[1].reason, "not local a: it does not answer");
  EXPECT_EQ(s.job.attempts.back().state, AttemptState::kStaging);
}

TEST(PlacesTest, ThoseThatTrainTogetherStayTogether) {
  Story s = Somewhere(2);
  s.Pass().Expect("Pending; 1 Provisioning L1,L2; sent L1 L2");
  s.Pass().See(AllRun()).Pass();
  s.Expect("Running; 1 Running L1,L2");
  // What replaces one is asked for beside the other; where there is no room, both move.
  s.See(NoRoomFor(3), IsGone(2)).Pass().See(Told(1, 0)).Pass(2);
  EXPECT_EQ(ZoneOf(s, 3), "a");
  s.Pass(3);
  const Attempt& now = s.job.attempts.back();
  EXPECT_EQ(now.launches, (std::vector<int>{4, 5}));
  EXPECT_EQ(ZoneOf(s, 4), "b");
  EXPECT_EQ(ZoneOf(s, 5), "b");
  EXPECT_TRUE(FindLaunch(s.job, 1)->closed);
}

}  // namespace
}  // namespace stoker::story
