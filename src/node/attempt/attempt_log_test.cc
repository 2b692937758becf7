// SPDX-License-Identifier: Apache-2.0
#include "node/attempt/attempt_log.h"

#include <gtest/gtest.h>

#include <string>

#include "ledger/log/log_reader.h"
#include "sys/file.h"
#include "sys/real_clock.h"
#include "test/kit/faulty.h"
#include "test/kit/memory_store.h"

namespace stoker::node {
namespace {

class AttemptLogTest : public testing::Test {
 protected:
  // What the store has of it.
  std::string Kept() {
    const auto reader = LogReader::Open(store_, "job", LogFilter(), "");
    EXPECT_TRUE(reader.ok()) << reader.status().ToString();
    std::string text;
    for (;;) {
      const auto records = (*reader)->Next();
      if (!records.ok() || records->empty()) return text;
      for (const LogRecord& record : *records) text += record.text + "\n";
    }
  }

  sys::TempDir dir_ = *sys::TempDir::Make("attempt-log");
  MemoryStore store_;
  RealClock clock_;
  const LogPlace place_{"job", 2, 0};
};

TEST_F(AttemptLogTest, WhatIsSaidOnceItIsOpenIsKeptWithoutSecrets) {
  AttemptLog log(store_, clock_, dir_.path(), place_);
  log.Say("nobody hears this");
  log.Does("fetching the code");
  ASSERT_TRUE(log.Open([] { return false; }).ok());
  log.Mask({"hush-hush"});
  log.Mask({"a second list counts for nothing"});
  log.Say("the key is hush-hush");
  EXPECT_EQ(log.Masked("hush-hush"), "***");
  NodeReport report;
  report.trouble = "of before";
  log.Complete(report);
  EXPECT_EQ(report.doing, "fetching the code");
  EXPECT_EQ(report.trouble, "");
  EXPECT_EQ(report.log_lines, 1);
  ASSERT_TRUE(log.pump().ShipAll(Duration::Seconds(30)).ok());
  EXPECT_EQ(Kept(), "the key is ***\n");
}

// As for the lines of an attempt that others have ended: one try.
TEST_F(AttemptLogTest, ACancelledOneDoesNotWaitForTheStore) {
  FaultPlan plan;
  plan.before = 1000;
  FaultyStore away(store_, 1, plan);
  AttemptLog log(away, clock_, dir_.path(), place_);
  int asked = 0;
  EXPECT_TRUE(log.Open([&] { return ++asked == 2; }).transient());
  EXPECT_EQ(asked, 2);
  EXPECT_FALSE(log.is_open());
}

}  // namespace
}  // namespace stoker::node
