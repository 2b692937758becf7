// SPDX-License-Identifier: Apache-2.0
// Jobs whose machines can be had in more than one place.
#include <gtest/gtest.h>

#include "test/kit/story.h"

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
  EXPECT_EQ(s.job.requests[1].reason.rfind("not local/a: ", 0), 0U) << s.job.requests[1].reason;
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
  EXPECT_EQ(s.job.requests[1].reason, "not local/a: it does not answer");
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

Story HereOrThere() {
  Story s = Somewhere();
  s.job.offers[0].ask.place.provider = "ec2";
  s.job.offers[1].ask.place.provider = "local";
  s.seen.places = {{"ec2", true, true}, {"local", true, true}};
  s.Pass(2).See(AllRun()).Pass();
  s.seen.places[0].may_ask = false;
  return s;
}
Fact MayAskAnywhere() {
  return [](Story& s) { s.seen.places[0].may_ask = true; };
}
std::string ProviderOfLaunch(const Story& s, int launch) {
  return RequestOf(s.job, *FindLaunch(s.job, launch)).ask.place.provider;
}

TEST(PlacesTest, WhereItMayNotAskNothingIsOpened) {
  Story s = HereOrThere();
  EXPECT_EQ(ProviderOfLaunch(s, 1), "ec2");
  s.See(NoRoomFor(2), IsGone(1)).Pass(2);
  EXPECT_EQ(ProviderOfLaunch(s, 2), "local");
  EXPECT_EQ(s.job.requests[1].reason, "the first of those that can be asked for from here");
  s.See(After(30)).Pass(3);
  EXPECT_EQ(s.job.launches.size(), 2U) << "full here: that is asked again, at its pace";
  s.See(MayAskAnywhere()).Pass(2);
  ASSERT_EQ(s.job.launches.size(), 3U) << "who may ask there does";
  EXPECT_EQ(ProviderOfLaunch(s, 3), "ec2");
}

TEST(PlacesTest, WhatIsRefusedForGoodHereIsLeftToWhoMayAskElsewhere) {
  Story s = HereOrThere();
  s.See(Outcome(2, No(RefusalClass::kInvalid, RefusalScope::kAccount)), IsGone(1)).Pass(4);
  ASSERT_EQ(s.job.launches.size(), 3U);
  EXPECT_EQ(ProviderOfLaunch(s, 3), "ec2");
  EXPECT_FALSE(IsFinal(s.job.state));
}

TEST(PlacesTest, WhoMayAskForNothingOpensWhatSomebodyElseIsToSend) {
  Story s = HereOrThere();
  s.seen.places[1].may_ask = false;
  s.See(Withhold(2), IsGone(1)).Pass(2);
  EXPECT_EQ(ProviderOfLaunch(s, 2), "ec2") << "the first choice";
}

TEST(PlacesTest, AJobThatHasNotBegunIsItsSubmittersToPlace) {
  Story s = Somewhere();
  s.job.offers[0].ask.place.provider = "ec2";
  s.seen.places = {{"ec2", true, true}, {"local", true, true}};
  s.seen.places[0].may_ask = false;
  s.See(Withhold(1)).Pass();
  EXPECT_EQ(ProviderOfLaunch(s, 1), "ec2");
}

TEST(PlacesTest, ThePlaceThatDoesNotAnswerIsNoOther) {
  Story s = HereOrThere();
  s.See(Withhold(2), IsGone(1)).Pass(2);
  EXPECT_EQ(ProviderOfLaunch(s, 2), "local");
  s.seen.places[1].known = false;
  s.See(After(620)).Pass(2);
  EXPECT_EQ(s.job.launches.size(), 2U) << "there is no other that may be asked from here";
}

TEST(PlacesTest, WhatNobodySendsIsAskedForWhereItMay) {
  Story s = HereOrThere();
  s.See(MayAskAnywhere(), Withhold(2), IsGone(1)).Pass(2);
  EXPECT_EQ(ProviderOfLaunch(s, 2), "ec2");
  s.seen.places[0].known = false;
  s.seen.places[0].may_ask = false;
  s.See(After(700)).Pass(2);
  ASSERT_EQ(s.job.launches.size(), 3U);
  EXPECT_EQ(ProviderOfLaunch(s, 3), "local");
}

}  // namespace
}  // namespace stoker::story
