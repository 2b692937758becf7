// SPDX-License-Identifier: Apache-2.0
#include "provider/cloud/boot_words.h"

#include <gtest/gtest.h>

namespace stoker::cloud {
namespace {

const BootAdvice kAdvice{"Make a way", "Put the policy", false};

std::string Said(const std::string& kind) {
  return "[ 3.1] systemd: up\r\nstoker: the binary cannot be fetched from https://b: curl: (22)\r\n"
         "stoker: boot failed, " +
         kind +
         ": the binary cannot be fetched from https://b/: curl: (22) error: 403\r\nPower off";
}

TEST(BootWords, ReasonsThatLast) {
  const auto denied = BootFailureIn(Said("denied"), kAdvice);
  ASSERT_TRUE(denied);
  EXPECT_TRUE(denied->lasts);
  EXPECT_EQ(denied->why,
            "the binary cannot be fetched from https://b/: curl: (22) error: 403. Put the policy");
  const auto no_route = BootFailureIn(Said("no-route"), kAdvice);
  EXPECT_TRUE(no_route->lasts);
  EXPECT_NE(no_route->why.find("Make a way"), std::string::npos);
  EXPECT_TRUE(SaysNoRoute(Said("no-route")));
  EXPECT_FALSE(SaysNoRoute(Said("denied")));
}

TEST(BootWords, AnOutageNeverLasts) {
  for (const char* kind : {"outage", "dns", "something new"}) {
    const auto told = BootFailureIn(Said(kind), kAdvice);
    ASSERT_TRUE(told) << kind;
    EXPECT_FALSE(told->lasts) << kind;
    EXPECT_EQ(told->outage, kind == std::string("outage"));
    EXPECT_NE(told->why.find("cannot be fetched"), std::string::npos) << kind;
  }
  BootAdvice routed = kAdvice;
  routed.has_route = true;
  EXPECT_FALSE(BootFailureIn(Said("no-route"), routed)->lasts)
      << "the account says that there is a way: it is down";
}

TEST(BootWords, WhatSaysNothingIsNoReason) {
  EXPECT_FALSE(BootFailureIn("", kAdvice));
  EXPECT_FALSE(BootFailureIn("stoker: its lease is over; this machine ends", kAdvice));
  EXPECT_FALSE(BootFailureIn("boot failed, cut", kAdvice));
}

TEST(BootWords, TheNewestCounts) {
  EXPECT_FALSE(BootFailureIn(Said("denied") + Said("outage"), kAdvice)->lasts);
}

}  // namespace
}  // namespace stoker::cloud
