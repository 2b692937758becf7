// SPDX-License-Identifier: Apache-2.0
// Machines that end themselves before their node begins, and say why.
#include <gtest/gtest.h>

#include "policy/retry.h"
#include "test/kit/story.h"

namespace stoker::story {
namespace {

Story::Fact CannotBegin(int launch, bool lasts, MachineState state = MachineState::kGone) {
  return [=](Story& s) {
    MachineSeen& machine = s.Machine(launch);
    machine.state = state;
    machine.boot = BootFailure{"the binary cannot be fetched", lasts};
  };
}

TEST(BootsTest, TheSecondOneEndsTheJobAndSaysWhy) {
  Story s;
  s.Pass().See(CannotBegin(1, true)).Settle();
  s.Expect("Pending; 1 Ended L1 (NodeLost); 2 Staging L2; L1 lost; sent L1 L2; ended m1");
  EXPECT_EQ(FindLaunch(s.job, 1)->close_why,
            "its machine ended itself before it began: the binary cannot be fetched");
  s.See(CannotBegin(2, true)).Settle();
  EXPECT_EQ(s.job.state, JobState::kFailed);
  EXPECT_EQ(s.job.result->reason, EndReason::kNoProgress);
  EXPECT_NE(s.job.result->why.find("cannot be fetched"), std::string::npos);
  EXPECT_EQ(s.job.launches.size(), 2U) << "no third one is asked for";
}

TEST(BootsTest, AnOutageIsWaitedOut) {
  Story s;
  s.Pass();
  for (int launch = 1; launch < kMostLossesWithoutProgress - 1; ++launch) {
    s.See(CannotBegin(launch, false)).Settle();
    s.See(After(301)).Settle();
    ASSERT_FALSE(IsFinal(s.job.state)) << launch;
  }
}

// However long it takes; machines are asked for more and more seldom, and then once an hour.
TEST(BootsTest, NoNumberOfOutagesEndsTheJob) {
  Story s;
  s.Pass();
  Duration pause;
  for (int launch = 1; launch < 3 * kMostLossesWithoutProgress; ++launch) {
    s.See(CannotBegin(launch, false),
          [&](Story& story) { story.Machine(launch).boot->outage = true; });
    s.Settle();
    ASSERT_FALSE(IsFinal(s.job.state)) << launch;
    const Request& next = s.job.requests.back();
    ASSERT_EQ(next.number, launch + 1);
    pause = std::max(Duration{}, next.next_try.value_or(s.seen.now) - s.seen.now);
    ASSERT_LE(pause, Duration::Hours(1)) << launch;
    if (launch > 2) {
      EXPECT_EQ(next.tries, 0) << "it is not paid for meanwhile";
    }
    s.See(After(static_cast<int>(pause.seconds()) + 1)).Settle();
  }
  EXPECT_GE(pause, Duration::Minutes(58));
  // What is lost otherwise counts as ever.
  for (int more = 0; more < 3 * kMostLossesWithoutProgress && !IsFinal(s.job.state); ++more) {
    s.See(IsGone(s.job.launches.back().number)).Settle().See(After(301)).Settle();
  }
  EXPECT_EQ(s.job.state, JobState::kFailed);
}

TEST(BootsTest, WhatBeganOnceIsAskedForAgain) {
  Story s;
  s.Pass().See(AllRun(1)).Pass();
  EXPECT_TRUE(s.job.booted);
  s.See(IsGone(1)).Settle();
  for (int launch = 2; launch < 5; ++launch) {
    s.See(CannotBegin(launch, true)).Settle();
    s.See(After(301)).Settle();
    ASSERT_FALSE(IsFinal(s.job.state)) << launch;
  }
}

TEST(BootsTest, OneThatIsOffIsNotStartedAgain) {
  Story s;
  s.seen.places[0].can_start = true;
  s.seen.places[0].may_stop = true;
  s.Pass().See(CannotBegin(1, true, MachineState::kStopped)).Settle();
  EXPECT_TRUE(FindLaunch(s.job, 1)->closed);
  EXPECT_TRUE(s.started.empty());
}

TEST(BootsTest, BeforeAnAttemptBegins) {
  Story s;
  for (const char* zone : {"a", "b"}) {
    Offer offer;
    offer.ask.place.zone = zone;
    s.job.offers.push_back(offer);
  }
  s.Pass(2).See(CannotBegin(1, true)).Settle();
  for (int launch = 2; launch <= static_cast<int>(s.job.launches.size()); ++launch) {
    s.See(CannotBegin(launch, true)).Settle();
  }
  EXPECT_EQ(s.job.state, JobState::kFailed);
  EXPECT_LE(s.job.launches.size(), 2U);
}

// What one region's account lacks, another's may have.
TEST(BootsTest, AnotherRegionIsAsked) {
  Story s;
  for (const char* region : {"r1", "r2"}) {
    Offer offer;
    offer.ask.place.region = region;
    s.job.offers.push_back(offer);
  }
  std::string asked;
  for (int launch = 1; launch <= 8 && !IsFinal(s.job.state); ++launch) {
    s.Pass(2);
    if (FindLaunch(s.job, launch) == nullptr) s.See(After(301)).Settle();
    const Launch* const now = FindLaunch(s.job, launch);
    ASSERT_NE(now, nullptr) << launch;
    asked += RequestOf(s.job, *now).ask.place.region + " ";
    s.See(CannotBegin(launch, true)).Settle();
  }
  EXPECT_EQ(asked, "r1 r1 r2 r2 ");
  EXPECT_EQ(s.job.state, JobState::kFailed);
}

// The other one's machine is not waited for.
TEST(BootsTest, OneOfTwoNodesIsEnough) {
  Story s(2);
  s.Pass().See(CannotBegin(1, true), CannotBegin(2, true)).Settle();
  const int next = s.job.attempts.back().launches[0];
  s.See(CannotBegin(next, true)).Settle();
  EXPECT_EQ(s.job.result ? s.job.result->reason : EndReason::kNone, EndReason::kNoProgress);
}

}  // namespace
}  // namespace stoker::story
