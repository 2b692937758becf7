// SPDX-License-Identifier: Apache-2.0
#include "policy/boots.h"

#include <gtest/gtest.h>

namespace stoker {
namespace {

// Launches of (slot, how it was closed, whether its boot failed for good).
struct Told {
  int slot;
  std::optional<CloseReason> reason;
  bool lasts;
};

std::string Why(const std::vector<Told>& launches, bool booted = false) {
  Job job;
  job.booted = booted;
  for (const Told& told : launches) {
    Launch launch;
    launch.number = static_cast<int>(job.launches.size()) + 1;
    launch.slot = told.slot;
    launch.closed = told.reason.has_value();
    launch.close_reason = told.reason;
    launch.boot_lasts = told.lasts;
    launch.close_why = "no way to the store";
    job.launches.push_back(launch);
  }
  return WhyBootsFail(job);
}

constexpr auto kGone = CloseReason::kLost;

TEST(Boots, TwoThatFailForGoodAreEnough) {
  EXPECT_EQ(Why({{0, kGone, true}}), "");
  EXPECT_EQ(Why({{0, kGone, true}, {0, kGone, true}}),
            "2 machines in a row could not begin, and no other would: no way to the store");
  EXPECT_EQ(Why({{0, kGone, true}, {0, std::nullopt, false}}), "") << "the second is still to show";
}

TEST(Boots, AnOutageIsWaitedOut) {
  std::vector<Told> outage(30, {0, kGone, false});
  EXPECT_EQ(Why(outage), "");
  EXPECT_EQ(Why({{0, kGone, true}, {0, kGone, false}, {0, kGone, true}}), "") << "not in a row";
}

TEST(Boots, WhatNeverCameSaysNothing) {
  EXPECT_NE(Why({{0, kGone, true}, {0, CloseReason::kNeverCame, false}, {0, kGone, true}}), "");
  EXPECT_EQ(Why({{0, CloseReason::kNeverCame, false}, {0, CloseReason::kSuperseded, false}}), "");
}

TEST(Boots, EachNodeCountsAlone) {
  EXPECT_EQ(Why({{0, kGone, true}, {1, kGone, true}}), "") << "two nodes, once each";
  EXPECT_NE(Why({{0, kGone, true}, {1, std::nullopt, false}, {0, kGone, true}}), "");
}

TEST(Boots, WhatHasBegunOnceIsNoMatterOfThePlace) {
  EXPECT_EQ(Why({{0, kGone, true}, {0, kGone, true}}, true), "");
}

}  // namespace
}  // namespace stoker
