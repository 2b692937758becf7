// SPDX-License-Identifier: Apache-2.0
// Places that take requests for several machines at once.
#include <gtest/gtest.h>

#include "test/kit/story.h"

namespace stoker::story {
namespace {

Story Running(bool alone, int nodes = 3) {
  Story s(nodes);
  s.See(TakesGangs(alone)).Pass().See(AllRun()).Pass();
  s.Expect("Running; 1 Running L1,L2,L3; sent L1+L2+L3");
  return s;
}

TEST(GangTest, WhatAnAttemptLacksIsOneRequest) {
  Story s(3);
  s.See(TakesGangs(true)).Pass().Expect("Pending; 1 Staging L1,L2,L3; sent L1+L2+L3");
  ASSERT_EQ(s.job.requests.size(), 1U);
  EXPECT_EQ(s.job.requests[0].slots, (std::vector<int>{0, 1, 2}));
  for (int i = 0; i < 3; ++i) {
    const Launch& launch = s.job.launches[static_cast<size_t>(i)];
    EXPECT_EQ(launch.request, 1);
    EXPECT_EQ(launch.index, i);
    EXPECT_EQ(launch.slot, i);
  }
}

TEST(GangTest, OneThatIsLostIsReplacedAlone) {
  Story s = Running(true);
  s.See(IsGone(2))
      .Pass(2)
      .See(Told(1, 0), Told(1, 2))
      .Settle()
      .Expect(
          "Running; 1 Ended L1,L2,L3 (NodeLost); 2 Staging L1,L4,L3; L2 lost; sent L4; ended m2");
  EXPECT_EQ(s.job.requests.back().slots, (std::vector<int>{1}));
}

TEST(GangTest, WhereTheyEndTogetherTheyAreReplacedTogether) {
  Story s = Running(false);
  // Nothing is ended while another of them still works.
  s.See(IsGone(2)).Pass(3).Expect("Running; 1 Running L1,L2,L3 (NodeLost); L2 lost");
  s.See(Told(1, 0)).Pass(3).Expect("Running; 1 Running L1,L2,L3 (NodeLost); L1 superseded");
  s.See(Told(1, 2))
      .Pass()
      .Expect(
          "Running; 1 Ended L1,L2,L3 (NodeLost); 2 Staging L4,L5,L6; L3 superseded; sent L4+L5+L6");
  s.See(After(60)).Pass(2).Expect(
      "Running; 1 Ended L1,L2,L3 (NodeLost); 2 Staging L4,L5,L6; ended m1 m2 m3");
}

// One was lost, another failed of it; what the first had told of that is damaged since (seed
// 80255629).
TEST(GangTest, WhatCannotBeReadMayBeTheLoss) {
  Story s = Running(false);
  s.See(End(1, 0, EndReason::kUserError, 1)).Pass();
  s.See(Unread(1, 0), End(1, 1, EndReason::kNodeLost), Told(1, 2)).Pass();
  s.See(Unread(1, 1), IsGone(3)).Pass(2);
  s.See(IsGone(2), IsGone(1), End(1, 0, EndReason::kUserError, 1)).Settle();
  EXPECT_EQ(FindLaunch(s.job, 2)->close_reason, CloseReason::kSuperseded);
  EXPECT_FALSE(IsFinal(s.job.state));
  EXPECT_EQ(s.job.attempts.front().ending->reason, EndReason::kNodeLost);
}

TEST(GangTest, ANoticeToOneReplacesAllWhereTheyEndTogether) {
  Story s = Running(false);
  s.See(NoticeOf(1, 1, 120))
      .Pass()
      .Expect("Running; 1 Draining L1,L2,L3; 2 Provisioning L4,L5,L6; sent L4+L5+L6");
  s = Running(true);
  s.See(NoticeOf(1, 1, 120))
      .Pass()
      .Expect("Running; 1 Draining L1,L2,L3; 2 Provisioning L1,L4,L3; sent L4");
}

TEST(GangTest, ARefusalIsForAllOfThem) {
  Story s(3);
  s.See(TakesGangs(true), Outcome(1, No(RefusalClass::kInvalid)), Withhold(2), Withhold(3))
      .Settle()
      .Expect(
          "Failed (LaunchRefused); 1 Ended L1,L2,L3 (LaunchRefused); L1 refused; L2 refused; "
          "L3 refused; sent L1+L2+L3");
}

TEST(GangTest, WithoutRoomTheyAreGivenUpTogether) {
  Story s(3);
  s.refuses_all = No(RefusalClass::kCapacity);
  s.See(TakesGangs(true))
      .Pass()
      .See(After(661))
      .Pass(2)
      .Expect(
          "Pending; 1 Ended L1,L2,L3 (NodeLost); 2 Staging L4,L5,L6; L1 never-came; L2 never-came; "
          "L3 never-came; sent L1+L2+L3 L4+L5+L6");
}

// What was refused to one was given to another: no launch is closed by the refusal then.
TEST(GangTest, ARefusalOfWhatIsThereMeansNothing) {
  Story s = Running(true);
  s.See(ListsMayLag(), Vanishes(3), Unread(1, 2), Outcome(3, No(RefusalClass::kInvalid)))
      .Pass(3)
      .Expect("Running; 1 Running L1,L2,L3");
}

}  // namespace
}  // namespace stoker::story
