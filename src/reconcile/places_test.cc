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
