// SPDX-License-Identifier: Apache-2.0
#include "node/metrics/same_points.h"

#include <gtest/gtest.h>

namespace stoker::node {
namespace {

using Verdict = SamePoints::Verdict;

TEST(SamePoints, TheSameIsSeenWhoeverIsAhead) {
  for (const bool better_first : {true, false}) {
    SamePoints pair;
    for (const bool better : {better_first, !better_first}) {
      for (int64_t step = 0; step < 300; ++step) {
        const double value = 1.0 / static_cast<double>(step + 3);
        const double as_float = static_cast<double>(static_cast<float>(value));
        pair.Add(better ? SamePoints::kBetter : SamePoints::kWorse,
                 {step * 10, {}, better ? as_float : value});
        if (better == better_first) EXPECT_EQ(pair.verdict(), Verdict::kOpen);
      }
    }
    EXPECT_EQ(pair.verdict(), Verdict::kSame);
  }
}

TEST(SamePoints, OtherValuesOrOtherStepsAreOther) {
  SamePoints values;
  values.Add(SamePoints::kBetter, {1, {}, 0.5});
  values.Add(SamePoints::kWorse, {1, {}, 0.6});
  EXPECT_EQ(values.verdict(), Verdict::kOther);
  SamePoints steps;
  steps.Add(SamePoints::kWorse, {15, {}, 0.5});
  steps.Add(SamePoints::kBetter, {10, {}, 0.5});
  EXPECT_EQ(steps.verdict(), Verdict::kOpen);
  steps.Add(SamePoints::kBetter, {20, {}, 0.5});
  EXPECT_EQ(steps.verdict(), Verdict::kOther);
  SamePoints apart;
  apart.Add(SamePoints::kBetter, {1, {}, 0.5});
  apart.Add(SamePoints::kWorse, {100, {}, 0.5});
  EXPECT_EQ(apart.verdict(), Verdict::kOpen);
  EXPECT_EQ(apart.Final(), Verdict::kOther);
}

}  // namespace
}  // namespace stoker::node
