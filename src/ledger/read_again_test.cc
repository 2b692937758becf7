// SPDX-License-Identifier: Apache-2.0
// One damaged answer is no damaged object; two alike are.
#include "ledger/segments/read_again.h"

#include <gtest/gtest.h>

#include "job/encoding.h"
#include "ledger/claims.h"
#include "ledger/index.h"
#include "ledger/paths.h"
#include "ledger/records.h"
#include "ledger/reports.h"
#include "test/contract/ledger_kit.h"
#include "test/contract/momentary.h"
#include "test/kit/counted.h"

namespace stoker {
namespace {

// A bit of the first brace: no JSON any more. And of the format: a newer stoker's, it seems.
void Nonsense(std::string* text) { (*text)[0] = static_cast<char>((*text)[0] ^ 4); }
void Newer(std::string* text) {
  const size_t at = text->find("\"format\"");
  ASSERT_NE(at, std::string::npos);
  (*text)[text->find('1', at)] = '9';
}

class ReadAgainTest : public ::testing::Test {
 protected:
  ReadAgainTest() : store_(memory_), ledger_(*Ledger::Open(store_, clock_, 7)) {
    Job job;
    job.id = "job1";
    job.name = "digits";
    EXPECT_TRUE(CreateJob(*ledger_, job, "run: x\n").ok());
  }
  MemoryStore memory_;
  MomentaryStore store_;
  StillClock clock_;
  std::unique_ptr<Ledger> ledger_;
};

TEST_F(ReadAgainTest, ARecordDamagedOnItsWayIsReadAgain) {
  for (const auto damage : {Nonsense, Newer}) {
    store_.DamageGets("records/", 1, damage);
    EXPECT_TRUE(ReadJob(*ledger_, "job1").ok());
  }
  EXPECT_EQ(store_.rested.ms, 2 * PauseBeforeRead(2).ms);
  // Another bit each time: as often as is stated.
  int reads = 0;
  store_.DamageGets("records/", 9, [&](std::string* text) { (*text)[0] = "abcdefghi"[reads++]; });
  EXPECT_EQ(ReadJob(*ledger_, "job1").code(), Code::kCorrupt);
  EXPECT_EQ(reads, kReads);
}

TEST_F(ReadAgainTest, WhatIsStoredDamagedCostsOneRequestMore) {
  ASSERT_TRUE(memory_.Put(paths::Record("job1"), "garbage").ok());
  CountedStore counted(memory_);
  const auto ledger = *Ledger::Open(counted, clock_, 8);
  counted.Reset();
  EXPECT_EQ(ReadJob(*ledger, "job1").code(), Code::kCorrupt);
  EXPECT_EQ(counted.counts().all(), 2);
}

TEST_F(ReadAgainTest, SoAreAllOthers) {
  NodeReport report;
  report.job = "job1";
  report.attempt = 1;
  report.launch = 1;
  ASSERT_TRUE(WriteReport(*ledger_, report).ok());
  store_.DamageGets("reports/", 1, Nonsense);
  std::string trouble;
  ReportReader reader(*ledger_);
  EXPECT_EQ(reader.Read("job1", &trouble)->size(), 1u);
  EXPECT_EQ(trouble, "");
  store_.DamageGets("reports/", 1, Newer);
  EXPECT_TRUE(ReadReport(*ledger_, "job1", 1, 0).ok());

  const ClaimHolder me{"i1", "b", 1, "x"};
  ASSERT_TRUE(ClaimAttempt(*ledger_, "job1", 1, 0, me).ok());
  store_.DamageGets("claims/", 1, Nonsense);
  EXPECT_EQ(ClaimAttempt(*ledger_, "job1", 1, 0, me)->result, ClaimResult::kWon);

  Job ended;
  ended.id = "old1";
  ended.state = JobState::kSucceeded;
  ASSERT_TRUE(AppendSummary(*ledger_, ended).ok());
  store_.DamageGets("index/", 1, Nonsense);
  const auto list = ReadIndex(*ledger_);
  EXPECT_EQ(list->jobs.size(), 1u);
  EXPECT_TRUE(list->warnings.empty());

  store_.DamageGets("ledger.json", 1, Newer);
  EXPECT_EQ(Ledger::Open(store_, clock_, 9).value()->id(), ledger_->id());
}

TEST_F(ReadAgainTest, TheSpecIsWhatWasSubmitted) {
  Job job;
  job.id = "job1";
  job.spec_digest = "6d3d24ecc4b9c4aec31ee7cc9c3fe2ba2a9c9ef2f0a1fb3aa6ac55a8d0c2e8f1";
  const auto other = ReadSpec(*ledger_, job);
  EXPECT_EQ(other.code(), Code::kCorrupt);
  EXPECT_NE(other.status().message().find("jobs/job1/spec.yaml"), std::string::npos);
  EXPECT_NE(other.status().next().find("stoker cancel job1"), std::string::npos);
  job.spec_digest.clear();  // of before there were digests
  EXPECT_EQ(ReadSpec(*ledger_, job).value(), "run: x\n");
}

TEST_F(ReadAgainTest, AMarkerThatWasDeletedIsMadeAgain) {
  Job ended;
  ended.id = "old1";
  ended.state = JobState::kSucceeded;
  ASSERT_TRUE(AppendSummary(*ledger_, ended).ok());
  ASSERT_TRUE(memory_.Put(paths::Record("old1"), EncodeJob(ended)).ok());
  JobList list;
  EXPECT_TRUE(FindHidden(*ledger_, &list)->empty());
  EXPECT_EQ(list.jobs.size(), 2U);
  ASSERT_TRUE(RemoveActive(*ledger_, "job1").ok());
  EXPECT_EQ(FindHidden(*ledger_, &list, true).value(), std::vector<std::string>{"job1"});
  EXPECT_TRUE(ActiveJobs(*ledger_)->empty());
  EXPECT_EQ(FindHidden(*ledger_, &list).value(), std::vector<std::string>{"job1"});
  EXPECT_EQ(ActiveJobs(*ledger_).value(), std::vector<std::string>{"job1"});
}

TEST_F(ReadAgainTest, ATimeBefore1970CostsNoLine) {
  Job job;
  job.id = "old1";
  job.state = JobState::kSucceeded;
  job.created = WallTime{-9'000};
  job.ended = WallTime{-5'000};
  Attempt attempt;
  attempt.running = WallTime{-7'000};
  job.attempts.push_back(attempt);
  ASSERT_TRUE(AppendSummary(*ledger_, job).ok());
  const auto list = ReadIndex(*ledger_);
  ASSERT_EQ(list->jobs.size(), 1u);
  EXPECT_TRUE(list->warnings.empty());
  EXPECT_EQ(list->jobs[0].created.ms, -9'000);
  EXPECT_TRUE(list->jobs[0].ended.has_value());
}

}  // namespace
}  // namespace stoker
