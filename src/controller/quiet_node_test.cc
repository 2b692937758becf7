// SPDX-License-Identifier: Apache-2.0
// A node that says nothing, looked at by observers that look once.
#include <gtest/gtest.h>

#include "test/controller/controller_kit.h"

namespace stoker {
namespace {

class QuietNodeTest : public ControllerTest {
 protected:
  QuietNodeTest() {
    job_ = Submit();
    Once(job_);
    Report();
    Once(job_);
    EXPECT_EQ(Record(job_).attempts.front().state, AttemptState::kRunning);
  }

  void Report(std::optional<Notice> notice = {}) {
    NodeReport report;
    report.job = job_;
    report.attempt = 1;
    report.launch = 1;
    report.seq = ++seq_;
    report.incarnation = "a";
    report.phase = NodePhase::kRunning;
    report.notice = notice;
    EXPECT_TRUE(WriteReport(*ledger_, report).ok());
  }
  bool IsKept() { return store_.Head(paths::QuietNodes(job_)).ok(); }
  bool IsLost() { return Record(job_).launches.front().closed; }

  std::string job_;
  int64_t seq_ = 0;
};

TEST_F(QuietNodeTest, IsFoundByATimerAlone) {
  keeps_looks_ = true;
  for (int i = 0; i < 3; ++i) {
    Once(job_, 60);
    EXPECT_TRUE(IsKept());
    EXPECT_FALSE(IsLost()) << i;
  }
  Once(job_, 60);
  EXPECT_TRUE(IsLost());
  Once(job_, 60);
  EXPECT_EQ(local_.ended, std::vector<std::string>{"local-1"});
  Once(job_, 60);
  EXPECT_EQ(Record(job_).attempts.size(), 2U);
}

TEST_F(QuietNodeTest, IsNotSilentForWhoKeepsNothing) {
  for (int i = 0; i < 30; ++i) Once(job_, 60);
  EXPECT_FALSE(IsLost());
  EXPECT_FALSE(IsKept()) << "and who goes on looking writes nothing";
}

TEST_F(QuietNodeTest, NothingIsWrittenWhileItReports) {
  keeps_looks_ = true;
  for (int i = 0; i < 5; ++i) {
    clock_.now += 40'000;
    Report();
    Once(job_, 20);
  }
  EXPECT_FALSE(IsKept());
}

TEST_F(QuietNodeTest, AnHourWithoutLooksIsNoSilence) {
  keeps_looks_ = true;
  Once(job_, 60);
  Once(job_, 60);
  Once(job_, 3600);
  Once(job_, 60);
  EXPECT_FALSE(IsLost());
}

TEST_F(QuietNodeTest, WhatCannotBeReadIsSeenAnew) {
  keeps_looks_ = true;
  ASSERT_TRUE(store_.Put(paths::QuietNodes(job_), "no JSON").ok());
  Once(job_, 60);
  EXPECT_FALSE(IsLost());
  const auto looks = ReadQuietNodes(*ledger_, job_);
  ASSERT_TRUE(looks.ok());
  EXPECT_EQ(looks->nodes.size(), 1U);
}

TEST_F(QuietNodeTest, ANewerStokersMemoryIsNotTouched) {
  keeps_looks_ = true;
  const std::string newer = R"({"format":2,"at":"soon"})";
  ASSERT_TRUE(store_.Put(paths::QuietNodes(job_), newer).ok());
  EXPECT_EQ(Once(job_, 60).trouble->code(), Code::kTooNew);
  EXPECT_EQ(store_.Get(paths::QuietNodes(job_))->data, newer);
}

TEST_F(QuietNodeTest, WhoGoesOnLookingAsksOnce) {
  keeps_looks_ = true;
  auto observer = Observer();
  clock_.now += 50'000;
  ASSERT_TRUE(observer->Pass(job_).ok());
  ASSERT_TRUE(IsKept());
  ASSERT_TRUE(store_.Delete(paths::QuietNodes(job_)).ok());
  for (int i = 0; i < 3; ++i) {
    clock_.now += 10'000;
    ASSERT_TRUE(observer->Pass(job_).ok());
  }
  EXPECT_FALSE(IsKept());
}

TEST_F(QuietNodeTest, IsNotSilentWhileTheStoreWasAwayTwice) {
  auto observer = Observer();
  const auto look = [&](int64_t ms) {
    clock_.now += ms;
    ASSERT_TRUE(observer->Pass(job_).ok());
  };
  look(5'000);
  look(40'000);
  look(4'000);
  look(44'000);
  look(5'000);
  EXPECT_FALSE(IsLost())
      << "nobody heard anything for most of that time, nor could it say anything";
  for (int i = 0; i < 8; ++i) look(10'000);
  EXPECT_TRUE(IsLost());
}

TEST_F(QuietNodeTest, ANoticeIsActedOnBeforeMachinesAreListed) {
  Report(Notice{"terminate", clock_.Wall() + Duration::Minutes(2)});
  local_.asked.clear();
  const PassResult pass = Once(job_);
  EXPECT_EQ(local_.asked, "LD");
  EXPECT_TRUE(pass.changed);
  EXPECT_EQ(pass.job.attempts.size(), 2U);
  EXPECT_EQ(pass.job.attempts[0].state, AttemptState::kDraining);
  EXPECT_EQ(pass.machines.size(), 2U) << "the rest of the pass sees both";
  local_.asked.clear();
  Once(job_);
  EXPECT_EQ(local_.asked, "D") << "it is no news any more";
}

TEST_F(QuietNodeTest, ANoticeWhileTheProviderIsAwayAsksForTheNextAllTheSame) {
  local_.answers = Status(Code::kUnavailable, "away");
  Report(Notice{"terminate", clock_.Wall() + Duration::Minutes(2)});
  EXPECT_TRUE(Once(job_).trouble.has_value());
  EXPECT_EQ(local_.launches, 2);
  EXPECT_EQ(Record(job_).attempts[0].state, AttemptState::kDraining);
}

// Answers lists late, as after a few tries.
class SlowToList : public ForwardingStore {
 public:
  SlowToList(ObjectStore& inner, StillClock& clock) : ForwardingStore(inner), clock_(clock) {}
  Result<Listing> List(const std::string& prefix, const std::string& after = "",
                       int limit = 1000) override {
    clock_.now += 5'000;
    return inner_.List(prefix, after, limit);
  }

 private:
  StillClock& clock_;
};

// Seed 16000116655: what a node had written after it was given up seemed to be of before.
TEST_F(QuietNodeTest, WhenAReportWasWrittenDoesNotDependOnWhenItWasListed) {
  const WallTime written = clock_.Wall();
  Report();
  clock_.now += 10'000;
  SlowToList store(store_, clock_);
  const auto ledger = *Ledger::Open(store, clock_, 2);
  Controller observer(
      *ledger, [this](const std::string&) -> Result<Provider*> { return &local_; }, clock_);
  const auto pass = observer.Pass(job_);
  ASSERT_TRUE(pass.ok());
  ASSERT_EQ(pass->reports.size(), 1U);
  EXPECT_EQ(pass->store_now - pass->reports[0].age, written);
}

// Takes nothing any more, from nobody.
class FullStore : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  Result<Version> Put(const std::string& key, std::string_view data,
                      const Condition& condition = {}) override {
    if (full) return Status(Code::kNoSpace, "full");
    return inner_.Put(key, data, condition);
  }
  bool full = true;
};

TEST_F(QuietNodeTest, IsNotSilentWhileNobodyCouldWrite) {
  FullStore store(store_);
  const auto ledger = *Ledger::Open(store, clock_, 2);
  Controller observer(
      *ledger, [this](const std::string&) -> Result<Provider*> { return &local_; }, clock_);
  const auto look = [&](int times) {
    for (int i = 0; i < times; ++i) {
      clock_.now += 10'000;
      ASSERT_TRUE(observer.Pass(job_).ok());
    }
  };
  look(40);
  store.full = false;
  look(1);
  EXPECT_FALSE(IsLost()) << "it must first have the time to say what it could not";
  look(20);
  EXPECT_TRUE(IsLost()) << "though it had room";
}

}  // namespace
}  // namespace stoker
