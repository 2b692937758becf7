// SPDX-License-Identifier: Apache-2.0
#include "node/outputs/output_sync.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "sys/file.h"
#include "sys/real_clock.h"
#include "test/kit/memory_store.h"

namespace stoker::node {
namespace {

// Whoever writes the node's report asks what was left out, and holds what a line for the log needs:
// an agent that waited for both hung just when it gave up saving, and lost what was left.
TEST(OutputSyncTest, WhatIsLeftOutCanBeAskedForWhileItIsSaid) {
  const auto temp = *sys::TempDir::Make("output-sync");
  ASSERT_TRUE(sys::MakeDirs(temp.path() + "/work/output").ok());
  ASSERT_TRUE(sys::MakeDirs(temp.path() + "/staging").ok());
  JobSpec spec;
  OutputPlan plan(spec, temp.path() + "/work", 0);
  ASSERT_TRUE(plan.Begin().ok());
  ASSERT_EQ(mkfifo((temp.path() + "/work/output/pipe").c_str(), 0600), 0);
  std::atomic<bool> saying{false};
  std::atomic<bool> answered{false};
  std::atomic<bool> held_up{false};
  const auto wait_for = [](const std::atomic<bool>& what) {
    for (int i = 0; i < 1000 && !what; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return what.load();
  };
  MemoryStore store;
  RealClock clock;
  OutputSyncConfig config{plan, "abcd1234", 1, 0, temp.path() + "/work", temp.path() + "/staging",
                          {},   {},         {}};
  config.say = [&](const std::string&) {
    saying = true;
    held_up = !wait_for(answered);
  };
  OutputSync sync(config, store, clock);
  ASSERT_TRUE(wait_for(saying));
  EXPECT_EQ(sync.left_out().size(), 1U);
  answered = true;
  (void)sync.Finish(clock.Mono() + Duration::Seconds(10));
  EXPECT_FALSE(held_up);
}

}  // namespace
}  // namespace stoker::node
