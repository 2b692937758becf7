// SPDX-License-Identifier: Apache-2.0
// The pure choices of log shipping: when to flush, when to try again, what to merge.
#include <gtest/gtest.h>

#include "agent/flush_policy.h"
#include "agent/log_merge.h"

namespace stoker {
namespace {

TEST(FlushPolicy, FirstLineAtOnceThenTogether) {
  const Duration interval = Duration::Seconds(30);
  FlushInput in{MonoTime{1000}, 10, std::nullopt, interval, false};
  EXPECT_TRUE(DecideFlush(in).flush);
  in.last = MonoTime{500};
  EXPECT_FALSE(DecideFlush(in).flush);
  EXPECT_EQ(DecideFlush(in).wake, MonoTime{30'500});
  in.now = MonoTime{30'500};
  EXPECT_TRUE(DecideFlush(in).flush);
  in.now = MonoTime{1000};
  in.waiting_bytes = kSegmentBytes;
  EXPECT_TRUE(DecideFlush(in).flush);
  in.waiting_bytes = 1;
  in.ending = true;
  EXPECT_TRUE(DecideFlush(in).flush);
  in.waiting_bytes = 0;
  EXPECT_FALSE(DecideFlush(in).flush);
}

TEST(FlushPolicy, WhatIsSaidBeforeTheProgramWaitsAMomentForItsFirstLine) {
  FlushInput in{MonoTime{1000}, 10, std::nullopt, Duration::Seconds(30), false, MonoTime{900}};
  EXPECT_FALSE(DecideFlush(in).flush);
  EXPECT_EQ(DecideFlush(in).wake, MonoTime{900} + kFirstWait);
  in.ending = true;  // or the program's first line is there
  EXPECT_TRUE(DecideFlush(in).flush);
  in.ending = false;
  in.now = MonoTime{900} + kFirstWait;
  EXPECT_TRUE(DecideFlush(in).flush);
  in.last = in.now;
  EXPECT_FALSE(DecideFlush(in).flush) << "from then on as always";
}

TEST(FlushPolicy, NobodyFollowsForLongIsAskedLessOften) {
  EXPECT_EQ(FollowCheck(true, {}), Duration::Seconds(5));
  EXPECT_EQ(FollowCheck(false, {}), Duration::Seconds(1));
  EXPECT_EQ(FollowCheck(false, Duration::Minutes(1)), Duration::Seconds(5));
  EXPECT_EQ(FollowCheck(false, Duration::Minutes(10) - Duration::Ms(1)), Duration::Seconds(5));
  EXPECT_EQ(FollowCheck(false, Duration::Hours(9)), Duration::Seconds(10));
  EXPECT_GT(kFollowFresh, kFollowMark + FollowCheck(false, Duration::Hours(9)))
      << "one mark that comes late must not look like the end";
}

// Lines come at any moment, go by DecideFlush, and are looked for by FollowPause; requests take
// 70 ms.
TEST(FlushPolicy, AFollowedLineIsShownWithinTwoSeconds) {
  const StoreTraits traits;
  const Duration request = Duration::Ms(70);
  Prng prng(3);
  for (int world = 0; world < 500; ++world) {
    std::vector<std::pair<MonoTime, MonoTime>> lines;  // when written, when in the store
    std::optional<MonoTime> put;
    MonoTime line{prng.Between(0, 8000)};
    for (int i = 0; i < 30; ++i) {
      const FlushChoice choice = DecideFlush({line, 1, put, traits.follow_flush, false});
      put = (choice.flush ? line : choice.wake) + request;
      lines.emplace_back(line, *put);
      line = *put + Duration::Ms(prng.Between(1, prng.Between(0, 1) == 0 ? 900 : 9000));
    }
    MonoTime got{0};
    size_t next = 0;
    for (MonoTime look{0}; next < lines.size();) {
      const bool any = lines[next].second <= look;
      if (any) got = look + request * 2;  // the list, and the segment
      for (; next < lines.size() && lines[next].second <= look; ++next) {
        ASSERT_LE((got - lines[next].first).ms, 2000) << "world " << world << " line " << next;
      }
      look = (any ? got : look + request) + FollowPause(traits, look - got);
    }
  }
}

TEST(FlushPolicy, RetryDoublesUpToTenSeconds) {
  Prng prng(1);
  int64_t expected = 100;
  for (int failures = 1; failures < 40; ++failures) {
    for (int i = 0; i < 50; ++i) {
      const Duration delay = RetryDelay(failures, prng);
      ASSERT_GE(delay.ms, expected / 2);
      ASSERT_LE(delay.ms, expected);
    }
    expected = std::min<int64_t>(expected * 2, 10'000);
  }
}

std::vector<LogSegment> Sizes(const std::vector<int64_t>& sizes) {
  std::vector<LogSegment> segments;
  int64_t line = 1;
  for (int64_t size : sizes) {
    segments.push_back({std::to_string(line), 1, 0, line, 10, size, {}});
    line += 10;
  }
  return segments;
}

TEST(PlanMerge, NeedsEnoughNeighbours) {
  EXPECT_FALSE(PlanMerge(Sizes(std::vector<int64_t>(15, 100)), {}));
  std::optional<MergeRange> range = PlanMerge(Sizes(std::vector<int64_t>(20, 100)), {});
  ASSERT_TRUE(range);
  EXPECT_EQ(range->begin, 0u);
  EXPECT_EQ(range->count, 20u);
  std::vector<LogSegment> gap = Sizes(std::vector<int64_t>(20, 100));
  gap.erase(gap.begin() + 10);
  EXPECT_FALSE(PlanMerge(gap, {}));
}

TEST(PlanMerge, LeavesALargeOneAloneUntilTheRestIsWorthIt) {
  std::vector<int64_t> sizes(20, 100);
  sizes.insert(sizes.begin(), 1'000'000);
  std::optional<MergeRange> range = PlanMerge(Sizes(sizes), {});
  ASSERT_TRUE(range);
  EXPECT_EQ(range->begin, 1u);
  sizes.assign(16, 100);
  sizes.push_back(1'000'000);
  range = PlanMerge(Sizes(sizes), {});
  ASSERT_TRUE(range);
  EXPECT_EQ(range->count, 16u);
}

TEST(PlanMerge, StaysWithinItsLimits) {
  MergeLimits limits;
  limits.least = 4;
  limits.max_packed = 1000;
  limits.max_raw = 5000;
  std::optional<MergeRange> range = PlanMerge(Sizes({240, 240, 240, 240, 240}), {}, limits);
  ASSERT_TRUE(range);
  EXPECT_EQ(range->count, 4u);
  EXPECT_FALSE(PlanMerge(Sizes({300, 300, 300, 300, 300}), {}, limits));
  std::map<std::string, int64_t> raw;
  for (const char* key : {"1", "11", "21", "31", "41"}) raw[key] = 1300;
  EXPECT_FALSE(PlanMerge(Sizes({10, 10, 10, 10, 10}), raw, limits));
}

// As the agent does it: one more segment, one plan. Counts what is left and what was rewritten.
TEST(PlanMerge, KeepsFewAndRewritesLittle) {
  std::vector<LogSegment> segments;
  int64_t rewritten = 0;
  constexpr int64_t kCount = 20'000;
  for (int64_t i = 0; i < kCount; ++i) {
    segments.push_back({std::to_string(i), 1, 0, i + 1, 1, 500, {}});
    while (std::optional<MergeRange> range = PlanMerge(segments, {})) {
      const auto begin = segments.begin() + static_cast<ptrdiff_t>(range->begin);
      LogSegment merged = *begin;
      merged.size = 0;
      merged.lines = 0;
      for (auto at = begin; at != begin + static_cast<ptrdiff_t>(range->count); ++at) {
        merged.size += at->size;
        merged.lines += at->lines;
      }
      rewritten += merged.size;
      segments.erase(begin + 1, begin + static_cast<ptrdiff_t>(range->count));
      segments[range->begin] = merged;
    }
  }
  EXPECT_LT(segments.size(), 200u);
  EXPECT_LT(rewritten, kCount * 500 * 12);
}

}  // namespace
}  // namespace stoker
