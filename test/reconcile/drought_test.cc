// SPDX-License-Identifier: Apache-2.0
// Droughts: nothing can be had for days, and the record stays one that can be read.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>

#include "job/encoding.h"
#include "test/kit/story.h"

namespace stoker::story {
namespace {

// Every machine is refused for want of room for `hours`, and the job is looked at every ten seconds
// at first and once in four minutes then, as often as it makes a difference.
void Wait(Story* s, int hours, size_t* largest) {
  s->refuses_all = No(RefusalClass::kCapacity);
  for (int64_t waited = 0; waited < hours * 3'600LL; waited += 240) {
    s->See(After(240)).Settle();
    if (waited % 1'200 == 0) *largest = std::max(*largest, EncodeJob(s->job).size());
  }
}

Story Drought(int nodes, int hours, size_t* largest) {
  Story s(nodes);
  Wait(&s, hours, largest);
  return s;
}

void ExpectReadable(const Story& s, size_t largest) {
  const std::string text = EncodeJob(s.job);
  const auto again = DecodeJob("jobs/x/job.json", text);
  ASSERT_TRUE(again.ok()) << again.status().ToString();
  EXPECT_LT(largest, kMaxRecordBytes / 2);
  std::printf(
      "%d nodes: %zu launches and %zu attempts are kept, %d and %d only counted; %zu bytes, "
      "%zu at most\n",
      s.job.num_nodes, s.job.launches.size(), s.job.attempts.size(),
      s.job.folded ? s.job.folded->launches : 0, s.job.folded ? s.job.folded->attempts : 0,
      text.size(), largest);
}

TEST(DroughtTest, ADroughtOfAWeekLeavesAReadableRecord) {
  size_t largest = 0;
  Story s = Drought(64, 7 * 24, &largest);
  ExpectReadable(s, largest);
  ASSERT_TRUE(s.job.folded.has_value());
  EXPECT_GT(s.job.folded->launches, 64 * 24 * 7 * 4);
  // When there is room again, it goes on as if nothing had been.
  s.refuses_all.reset();
  s.See(After(120)).Settle();
  s.See(AllRun(s.job.attempts.back().number)).Settle();
  EXPECT_EQ(s.job.state, JobState::kRunning);
}

// By hand (half a minute): --gtest_also_run_disabled_tests
TEST(DroughtTest, DISABLED_AWeekOfTheLargestJob) {
  size_t largest = 0;
  const Story s = Drought(1024, 7 * 24, &largest);
  ExpectReadable(s, largest);
}

TEST(DroughtTest, TheLargestJobsToo) {
  size_t largest = 0;
  const Story s = Drought(1024, 3, &largest);
  ExpectReadable(s, largest);
}

TEST(DroughtTest, ADroughtInEveryZoneToo) {
  size_t largest = 0;
  Story s(64);
  for (const char* zone : {"a", "b", "c"}) {
    s.job.offers.emplace_back();
    s.job.offers.back().ask.place.zone = zone;
  }
  Wait(&s, 48, &largest);
  ExpectReadable(s, largest);
  ASSERT_TRUE(s.job.folded.has_value());
  EXPECT_EQ(s.job.attempts.size(), 1U) << "it has not begun";
  s.refuses_all.reset();
  s.See(After(1'200)).Settle();
  s.See(AllRun(1)).Settle();
  EXPECT_EQ(s.job.state, JobState::kRunning);
}

TEST(DroughtTest, RequestsForSeveralAreCountedAsOne) {
  size_t largest = 0;
  Story s(64);
  s.See(TakesGangs(true));
  Wait(&s, 24, &largest);
  ExpectReadable(s, largest);
  ASSERT_TRUE(s.job.folded.has_value());
  EXPECT_EQ(s.job.folded->launches, 64 * s.job.folded->requests);
  EXPECT_EQ(s.job.launches.size(), 64 * s.job.requests.size());
}

}  // namespace
}  // namespace stoker::story
