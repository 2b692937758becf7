// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/rule/save_times.h"

#include <gtest/gtest.h>

namespace stoker::test {
namespace {

// Saves 1 to 5, a minute apart.
SaveTimes EachMinute() {
  SaveTimes times;
  for (int64_t saves = 1; saves <= 5; ++saves) times.Began(saves, {saves * 60'000});
  return times;
}

Between At(int64_t ms, int64_t unsure = 0) { return {{ms - unsure}, {ms + unsure}}; }

TEST(SaveTimes, WhatBeganTogetherIsTheSame) {
  const SaveTimes times = EachMinute();
  EXPECT_FALSE(times.ClearlyAnother(4, At(240'100), {}));
  EXPECT_EQ(times.Clearly(At(240'100), 20), 4);
  EXPECT_TRUE(times.ClearlyAnother(4, At(300'100), {}));
  EXPECT_EQ(times.Clearly(At(300'100), 20), 5);
  EXPECT_TRUE(times.ClearlyAnother(4, At(180'000, 2'000), {}));
  EXPECT_EQ(times.Clearly(At(180'000, 4'000), 10), 3);
  EXPECT_EQ(times.Clearly(At(180'000, 4'000), 20), std::nullopt);
}

TEST(SaveTimes, WhoComesLaterIsBelieved) {
  const SaveTimes times = EachMinute();
  EXPECT_FALSE(times.ClearlyAnother(4, At(240'000 + 50'000), {}));
  EXPECT_FALSE(times.ClearlyAnother(5, At(300'000 + 200'000), {}));
  EXPECT_EQ(times.Clearly(At(240'000 + 50'000), 10), std::nullopt);
  EXPECT_TRUE(times.ClearlyAnother(4, At(240'000 + 58'000), {}));
}

TEST(SaveTimes, WhatHasJustBegunIsAnother) {
  const SaveTimes times = EachMinute();
  EXPECT_FALSE(times.ClearlyAnother(5, At(360'000), {}));
  EXPECT_TRUE(times.ClearlyAnother(5, At(360'100), MonoTime{360'000}));
  EXPECT_FALSE(times.ClearlyAnother(5, At(301'000), MonoTime{360'000}));
}

TEST(SaveTimes, WhatIsKnownTooRoughlyIsBelieved) {
  const SaveTimes times = EachMinute();
  EXPECT_FALSE(times.ClearlyAnother(4, At(300'000, 10'000), {}));
  EXPECT_FALSE(times.ClearlyAnother(4, Between(), {}));
  EXPECT_FALSE(times.ClearlyAnother(9, At(300'000), {}));
  EXPECT_EQ(times.Clearly(At(240'000, 10'000), 10), std::nullopt);
  EXPECT_EQ(times.Clearly(Between(), 10), std::nullopt);
  EXPECT_EQ(times.Clearly(At(270'000), 10), std::nullopt);
  SaveTimes one;
  one.Began(1, {60'000});
  EXPECT_EQ(one.Clearly(At(60'000), 10), std::nullopt);
}

}  // namespace
}  // namespace stoker::test
