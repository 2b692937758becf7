// SPDX-License-Identifier: Apache-2.0
#include "agent/idle_gpu.h"

#include <gtest/gtest.h>

namespace stoker {
namespace {

using Set = std::set<int>;

constexpr char kTwo[] =
    R"([{"index":0,"name":"A","busy_percent":3},{"index":1,"name":"A","busy_percent":88}])";

TEST(IdleGpu, OnlyOnesOwnCount) {
  EXPECT_EQ(BusiestGpu(kTwo, std::nullopt), 88);
  EXPECT_EQ(BusiestGpu(kTwo, Set{0}), 3);
  EXPECT_EQ(BusiestGpu(kTwo, Set{0, 1}), 88);
  EXPECT_EQ(BusiestGpu(kTwo, Set{2}), std::nullopt);
  EXPECT_EQ(BusiestGpu(kTwo, Set{}), std::nullopt);
}

TEST(IdleGpu, WhatDoesNotSayIsNotKnown) {
  const std::string silent = R"([{"index":0,"busy_percent":0},{"index":1,"busy_percent":null}])";
  EXPECT_EQ(BusiestGpu(silent, std::nullopt), std::nullopt);
  EXPECT_EQ(BusiestGpu(silent, Set{0}), 0);
  for (const char* text : {"", "[", "{}", "[1]", "[[]]", R"([{"index":"0"}])", "null"}) {
    EXPECT_EQ(BusiestGpu(text, std::nullopt), std::nullopt) << text;
  }
}

MonoTime At(int64_t seconds) { return MonoTime{} + Duration::Seconds(seconds); }

TEST(IdleGpu, IsFromTheLastBusyLook) {
  IdleGpu idle(5, Duration::Seconds(60));
  idle.Begin(At(100));
  EXPECT_FALSE(idle.Take(At(130), 1));
  EXPECT_FALSE(idle.Take(At(150), 5));  // not below
  EXPECT_FALSE(idle.Take(At(209), 4.5));
  EXPECT_EQ(idle.Take(At(211), 0),
            "no GPU of this node was busier than 4.5 % for 1m 1s (limits.idle_gpu: 5 %)");
}

TEST(IdleGpu, NotKnownIsBusy) {
  IdleGpu idle(5, Duration::Seconds(60));
  idle.Begin(At(0));
  EXPECT_FALSE(idle.Take(At(50), 0));
  EXPECT_FALSE(idle.Take(At(100), std::nullopt));
  EXPECT_FALSE(idle.Take(At(159), 0));
  EXPECT_TRUE(idle.Take(At(160), 0));
}

}  // namespace
}  // namespace stoker
