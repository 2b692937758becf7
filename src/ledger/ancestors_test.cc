// SPDX-License-Identifier: Apache-2.0
#include "ledger/ancestors.h"

#include <gtest/gtest.h>

#include "ledger/paths.h"
#include "ledger/records.h"
#include "test/contract/ledger_kit.h"

namespace stoker {
namespace {

class AncestorsTest : public ::testing::Test {
 protected:
  Job Make(const std::string& id, const std::string& retry_of) {
    Job job;
    job.id = id;
    job.retry_of = retry_of;
    EXPECT_TRUE(CreateJob(*ledger_, job, "run: x\n").ok());
    return job;
  }
  std::string Row(const Job& job) {
    const auto found = ReadAncestors(*ledger_, job);
    EXPECT_TRUE(found.ok());
    std::string row;
    for (const Job& one : found->jobs) row += (row.empty() ? "" : " ") + one.id;
    return row + (found->cut.empty() ? "" : " …");
  }

  MemoryStore store_;
  StillClock clock_;
  std::unique_ptr<Ledger> ledger_ = *Ledger::Open(store_, clock_, 1);
};

TEST_F(AncestorsTest, NearestFirst) {
  const Job first = Make("first", "");
  const Job second = Make("second", "first");
  const Job third = Make("third", "second");
  EXPECT_EQ(Row(first), "");
  EXPECT_EQ(Row(third), "second first");
}

TEST_F(AncestorsTest, ACircleIsFollowedOnceAround) {
  const Job one = Make("one", "three");
  Make("two", "one");
  const Job three = Make("three", "two");
  EXPECT_EQ(Row(three), "two one …");
  EXPECT_EQ(Row(Make("self", "self")), " …");
}

TEST_F(AncestorsTest, WhatIsGoneOrDamagedEndsTheRowAndIsNamed) {
  Make("two", "gone");
  const Job three = Make("three", "two");
  EXPECT_EQ(Row(three), "two …");
  EXPECT_NE(ReadAncestors(*ledger_, three)->cut.find("goes on from job gone"), std::string::npos);
  EXPECT_EQ(ReadAncestors(*ledger_, three)->unread, "") << "there is nothing of it";
  ASSERT_TRUE(store_.Put(paths::Record("two"), "{").ok());
  EXPECT_EQ(Row(three), " …");
  EXPECT_EQ(ReadAncestors(*ledger_, three)->unread, "two");
}

TEST_F(AncestorsTest, TheRowIsBounded) {
  Job last = Make("j0", "");
  for (int i = 1; i <= kMostAncestors + 5; ++i) {
    last = Make("j" + std::to_string(i), "j" + std::to_string(i - 1));
  }
  EXPECT_EQ(ReadAncestors(*ledger_, last)->jobs.size(), static_cast<size_t>(kMostAncestors));
  EXPECT_FALSE(ReadAncestors(*ledger_, last)->cut.empty());
}

}  // namespace
}  // namespace stoker
