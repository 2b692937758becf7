// SPDX-License-Identifier: Apache-2.0
#include "agent/save_patience.h"

#include <gtest/gtest.h>

namespace stoker {
namespace {

TEST(SavePatience, EndsAfterAnHourWithoutProgressOrWhenHurried) {
  const MonoTime begin{5'000};
  SavePatience patience(3, begin);
  EXPECT_FALSE(patience.Ends(3, false, begin));
  EXPECT_FALSE(patience.Ends(3, false, begin + kKeepTrying - Duration::Ms(1)));
  EXPECT_FALSE(patience.Ends(4, false, begin + kKeepTrying)) << "something got there";
  EXPECT_FALSE(patience.Ends(4, false, begin + kKeepTrying * 2 - Duration::Ms(1)));
  EXPECT_TRUE(patience.Ends(4, false, begin + kKeepTrying * 2));
  EXPECT_TRUE(SavePatience(0, begin).Ends(1, true, begin)) << "a cancel's time is over";
}

}  // namespace
}  // namespace stoker
