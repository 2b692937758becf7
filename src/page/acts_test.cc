// SPDX-License-Identifier: Apache-2.0
#include "page/acts.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>

namespace stoker::page {
namespace {

TEST(ActsTest, OneThatTakesLongKeepsNobodyAndGoesOn) {
  std::promise<void> let_go;
  const std::shared_future<void> go = let_go.get_future().share();
  Acts acts(
      [&](const std::string& verb, const std::string& job) {
        if (job == "slow") go.wait();
        return Acted{true, verb + " " + job, ""};
      },
      Duration::Ms(50));
  const Acted slow = acts.Do("cancel", "slow");
  EXPECT_FALSE(slow.done);
  EXPECT_NE(slow.text.find("goes on: 'stoker show slow'"), std::string::npos) << slow.text;
  EXPECT_EQ(acts.Running(), 1U);
  Acted quick;
  while (!quick.done) quick = acts.Do("retry", "quick");
  EXPECT_EQ(quick.text, "retry quick");
  let_go.set_value();
  while (acts.Running() > 0) std::this_thread::yield();
}

TEST(ActsTest, WhatWasBegunHasEndedWithIt) {
  std::promise<void> let_go;
  const std::shared_future<void> go = let_go.get_future().share();
  bool ended = false;
  {
    Acts acts(
        [&](const std::string&, const std::string&) {
          go.wait();
          ended = true;
          return Acted{true, "", ""};
        },
        Duration::Ms(1));
    EXPECT_FALSE(acts.Do("cancel", "x").done);
    let_go.set_value();
  }
  EXPECT_TRUE(ended);
}

TEST(ActsTest, MoreThanAPersonCanMeanAreRefused) {
  std::promise<void> let_go;
  const std::shared_future<void> go = let_go.get_future().share();
  Acts acts(
      [&](const std::string&, const std::string&) {
        go.wait();
        return Acted{true, "", ""};
      },
      Duration::Ms(0));
  Acted last;
  for (int i = 0; i < 33; ++i) last = acts.Do("cancel", "x");
  EXPECT_NE(last.text.find("32 others"), std::string::npos) << last.text;
  EXPECT_EQ(acts.Running(), 32U);
  let_go.set_value();
}

TEST(ActsTest, WhatIsThrownIsTold) {
  Acts acts(
      [](const std::string&, const std::string&) -> Acted { throw std::runtime_error("oh"); });
  const Acted told = acts.Do("cancel", "x");
  EXPECT_FALSE(told.done);
  EXPECT_EQ(told.text, "oh");
}

}  // namespace
}  // namespace stoker::page
