// SPDX-License-Identifier: Apache-2.0
#include "metrics/curve.h"

#include <gtest/gtest.h>

#include <cmath>

namespace stoker::metrics {
namespace {

AttemptPart Part(int attempt, int64_t from, int64_t to, bool ordered = false) {
  AttemptPart part{attempt, ordered, {}};
  for (int64_t step = from; step < to; ++step) {
    part.entries.push_back(EntryOf(step, WallTime{step}, static_cast<double>(attempt)));
  }
  return part;
}

TEST(Curve, TheNewerAttemptWinsFromItsFirstStepOn) {
  const auto curve = MakeCurve({Part(2, 6, 9), Part(1, 0, 8), Part(3, 4, 10)});
  std::vector<int64_t> kept;
  int64_t redone = 0;
  for (const CurveEntry& entry : curve) {
    if (entry.redone) {
      ++redone;
    } else {
      kept.push_back(entry.entry.first_step);
    }
  }
  EXPECT_EQ(kept, (std::vector<int64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
  EXPECT_EQ(redone, 4 + 3);
}

TEST(Curve, PointsWithoutStepsAreNumberedOn) {
  const auto curve = MakeCurve({Part(1, 0, 3, true), Part(2, 0, 2, true)});
  ASSERT_EQ(curve.size(), 5U);
  EXPECT_EQ(curve.back().entry.first_step, 4);
  EXPECT_FALSE(curve[1].redone);
}

// What a later attempt began before is void, though it has not come to it again.
TEST(Curve, WhatWasThrownAwayIsRedoneInEverySeries) {
  AttemptPart validation = Part(1, 50, 51);
  validation.entries.push_back(EntryOf(120, WallTime{120}, 0.001));
  AttemptPart later{2, false, {}};
  later.begin = 101;
  auto curve = MakeCurve({validation, later});
  EXPECT_FALSE(curve[0].redone);
  EXPECT_TRUE(curve[1].redone);
  later.entries.push_back(EntryOf(200, WallTime{300}, 0.5));
  curve = MakeCurve({validation, later});
  EXPECT_TRUE(curve[1].redone && !curve[2].redone);
}

TEST(Curve, WithoutStepsTheTimeOfTheCheckpointDecides) {
  AttemptPart first = Part(1, 0, 6, true);  // its times are its steps
  AttemptPart second = Part(2, 0, 2, true);
  second.resumed = 3;
  const auto curve = MakeCurve({first, second});
  EXPECT_FALSE(curve[3].redone);
  EXPECT_TRUE(curve[4].redone && curve[5].redone);
  EXPECT_EQ(curve[6].entry.first_step, 4);
}

TEST(Thin, KeepsEveryExtremeAndTheNewestWhole) {
  std::vector<Entry> entries;
  double sum = 0;
  for (int64_t i = 0; i < 100'000; ++i) {
    const double value = i == 777 ? 1e9 : i == 50'001 ? -HUGE_VAL : i == 9 ? std::nan("") : 1;
    if (std::isfinite(value)) sum += value;
    entries.push_back(EntryOf(i, WallTime{i}, value));
    if (entries.size() >= 4000) Thin(&entries);
  }
  Thin(&entries);
  EXPECT_LE(entries.size(), kWhole + kBuckets);
  int64_t count = 0;
  int64_t finite = 0;
  int64_t nans = 0;
  double total = 0;
  bool high = false;
  bool low = false;
  int64_t next = 0;
  for (const Entry& entry : entries) {
    EXPECT_EQ(entry.first_step, next);
    next = entry.last_step + 1;
    count += entry.count;
    finite += entry.finite;
    nans += entry.nans;
    if (entry.finite > 0) total += entry.mean * static_cast<double>(entry.finite);
    high |= entry.max == 1e9 && entry.max_step == 777;
    low |= std::isinf(entry.min) && entry.min_step == 50'001;
  }
  EXPECT_EQ(count, 100'000);
  EXPECT_EQ(finite, 99'998);
  EXPECT_EQ(nans, 1);
  EXPECT_NEAR(total, sum, 1e-3);
  EXPECT_TRUE(high && low);
  for (size_t i = entries.size() - kWhole; i < entries.size(); ++i) EXPECT_EQ(entries[i].count, 1);
}

TEST(Totals, LeaveOutWhatIsNoNumberFromMinAndMax) {
  Totals totals;
  totals.Add(1, {}, std::nan(""));
  EXPECT_TRUE(std::isnan(totals.min));
  totals.Add(2, {}, 5);
  totals.Add(3, {}, HUGE_VAL);
  totals.Add(4, {}, 3);
  Totals later;
  later.Add(5, {}, std::nan(""));
  totals.Add(later);
  EXPECT_EQ(totals.min, 3);
  EXPECT_EQ(totals.min_step, 4);
  EXPECT_EQ(totals.max, 5);
  EXPECT_EQ(totals.nans, 2);
  EXPECT_EQ(totals.infinite, 1);
  EXPECT_TRUE(std::isnan(totals.last));
  EXPECT_EQ(totals.last_step, 5);
}

}  // namespace
}  // namespace stoker::metrics
