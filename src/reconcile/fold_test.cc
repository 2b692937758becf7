// SPDX-License-Identifier: Apache-2.0
// What is over is counted and not kept, but for what tells something. Droughts of a week:
// test/reconcile/drought_test.cc.
#include <gtest/gtest.h>

#include "test/kit/story.h"

namespace stoker::story {
namespace {

TEST(FoldTest, WhatTellsSomethingStays) {
  Story s(1);
  s.Settle().See(AllRun()).Pass(3);
  s.refuses_all = No(RefusalClass::kCapacity);
  s.See(IsGone(1)).Settle();
  for (int i = 0; i < 1'500; ++i) s.See(After(240)).Settle();
  ASSERT_TRUE(s.job.folded.has_value());
  EXPECT_NE(FindAttempt(s.job, 1), nullptr) << "it ran";
  EXPECT_NE(FindLaunch(s.job, 1), nullptr) << "there was a machine";
  EXPECT_LE(s.job.launches.size(), 210U);
  EXPECT_EQ(s.job.requests.size(), s.job.launches.size());
  EXPECT_EQ(s.job.folded->requests, s.job.folded->launches);
  const int newest = s.job.launches.back().number;
  EXPECT_EQ(s.job.folded->launches + static_cast<int>(s.job.launches.size()), newest);
}

}  // namespace
}  // namespace stoker::story
