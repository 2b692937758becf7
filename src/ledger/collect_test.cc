// SPDX-License-Identifier: Apache-2.0
#include "ledger/collect.h"

#include <gtest/gtest.h>

#include "base/digest.h"
#include "base/test_rounds.h"
#include "ledger/blobs.h"
#include "ledger/index.h"
#include "ledger/paths.h"
#include "ledger/records.h"
#include "store/forwarding.h"
#include "test/contract/ledger_kit.h"

namespace stoker {
namespace {

// What somebody else does right after a listing of records was asked for, or between two answers of
// one listing.
class BusyStore : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  Result<Listing> List(const std::string& prefix, const std::string& after, int limit) override {
    auto listing = ForwardingStore::List(prefix, after, std::min(limit, page));
    if (prefix == watched && meanwhile) {
      const auto act = std::exchange(meanwhile, nullptr);
      act();
    }
    return listing;
  }
  Result<Version> Put(const std::string& key, std::string_view data,
                      const Condition& condition = {}) override {
    if (full) return Status(Code::kNoSpace, "full");
    return ForwardingStore::Put(key, data, condition);
  }
  int page = 1000;
  bool full = false;  // no write succeeds
  std::string watched;
  std::function<void()> meanwhile;
};

class CollectTest : public ::testing::Test {
 protected:
  // A job that ended, as the controller leaves it.
  void RunJob(const std::string& id, const std::string& code) {
    Job job;
    job.id = id;
    job.created = now_;
    job.code_digest = Sha256Hex(code);
    job.binary_digest = Sha256Hex("binary");
    ASSERT_TRUE(PutBlobText(*ledger_, job.code_digest, code).ok());
    ASSERT_TRUE(CreateJob(*ledger_, job, "run: x\n").ok());
    const auto ended = MutateJob(*ledger_, id, [&](Job& record) -> Result<bool> {
      record.state = JobState::kSucceeded;
      record.ended = now_;
      return true;
    });
    ASSERT_TRUE(ended.ok());
    ASSERT_TRUE(AppendSummary(*ledger_, ended->job).ok());
    ASSERT_TRUE(RemoveActive(*ledger_, id).ok());
  }
  bool HasBlob(const std::string& code) {
    return !memory_.List(paths::Blobs() + Sha256Hex(code))->objects.empty();
  }

  WallTime now_{1'767'225'600'000};
  MemoryStore memory_{[this] { return now_; }};
  BusyStore store_{memory_};
  StillClock clock_;
  std::unique_ptr<Ledger> ledger_ = *Ledger::Open(store_, clock_, 1);
};

TEST_F(CollectTest, RemovesOldBlobsThatNoRecordNames) {
  RunJob("one", "wanted");
  ASSERT_TRUE(PutBlobText(*ledger_, Sha256Hex("nobody's"), "nobody's").ok());
  now_ = now_ + Duration::Hours(24 * 31);
  ASSERT_TRUE(PutBlobText(*ledger_, Sha256Hex("young"), "young").ok());
  CollectRequest request;
  request.dry_run = true;
  EXPECT_EQ(CollectGarbage(*ledger_, request)->blobs, 1);
  EXPECT_TRUE(HasBlob("nobody's"));
  request.dry_run = false;
  EXPECT_EQ(CollectGarbage(*ledger_, request)->blobs, 1);
  EXPECT_FALSE(HasBlob("nobody's"));
  EXPECT_TRUE(HasBlob("wanted"));
  EXPECT_TRUE(HasBlob("young"));
}

// On a full disk what is to go goes, and the list of jobs is mended when there is room.
TEST_F(CollectTest, RemovesBeforeItWrites) {
  RunJob("one", "old code");
  RunJob("two", "old code");
  now_ = now_ + Duration::Hours(24 * 31);
  RunJob("young", "new code");
  CollectRequest request;
  request.jobs_older_than = Duration::Hours(24);
  store_.full = true;
  request.dry_run = true;
  const auto would = CollectGarbage(*ledger_, request);
  request.dry_run = false;
  const auto collected = CollectGarbage(*ledger_, request);
  ASSERT_TRUE(collected.ok()) << collected.status().ToString();
  EXPECT_EQ(collected->jobs, (std::vector<std::string>{"one", "two"}));
  EXPECT_GT(collected->job_bytes, 0);
  EXPECT_EQ(would->job_bytes, collected->job_bytes);
  EXPECT_EQ(collected->blobs, 1);
  EXPECT_FALSE(HasBlob("old code"));
  EXPECT_TRUE(collected->index.Is(Code::kNoSpace)) << collected->index.ToString();
  EXPECT_EQ(ReadIndex(*ledger_)->jobs.size(), 3u) << "stale, and said so";
  store_.full = false;
  const auto again = CollectGarbage(*ledger_, request);
  EXPECT_TRUE(again->jobs.empty() && again->index.ok());
  ASSERT_EQ(ReadIndex(*ledger_)->jobs.size(), 1u);
  EXPECT_EQ(ReadIndex(*ledger_)->jobs[0].id, "young");
}

TEST_F(CollectTest, SaysWhichItKeepsAndWhy) {
  RunJob("old", "code");
  Job goes_on;
  goes_on.id = "next";
  goes_on.created = now_;
  goes_on.retry_of = "old";
  ASSERT_TRUE(CreateJob(*ledger_, goes_on, "run: x\n").ok());
  now_ = now_ + Duration::Hours(48);
  RunJob("young", "code");
  CollectRequest request;
  request.jobs_older_than = Duration::Hours(24);
  const auto collected = CollectGarbage(*ledger_, request);
  ASSERT_TRUE(collected.ok());
  EXPECT_TRUE(collected->jobs.empty());
  EXPECT_EQ(collected->kept.active, (std::vector<std::string>{"next"}));
  EXPECT_EQ(collected->kept.young, (std::vector<std::string>{"young"}));
  EXPECT_EQ(collected->kept.needed, (std::map<std::string, std::string>{{"old", "next"}}));
}

TEST_F(CollectTest, ABlobThatIsUsedAgainMeanwhileStays) {
  ASSERT_TRUE(PutBlobText(*ledger_, Sha256Hex("code"), "code").ok());
  now_ = now_ + Duration::Hours(24 * 31);
  // Somebody submits after the records were listed: no record names it yet.
  store_.watched = "records/";
  store_.meanwhile = [this] { RunJob("late", "code"); };
  const auto collected = CollectGarbage(*ledger_, {});
  ASSERT_TRUE(collected.ok());
  EXPECT_EQ(collected->blobs, 1);  // the old copy; the job has its own
  EXPECT_TRUE(HasBlob("code"));
}

TEST_F(CollectTest, AnOldCopyGoesWhenAYoungerOneIsThere) {
  RunJob("one", "code");
  now_ = now_ + Duration::Hours(24 * 31);
  EXPECT_EQ(CollectGarbage(*ledger_, {})->blobs, 0);
  RunJob("two", "code");
  const auto copies = [this] { return memory_.List(paths::Blobs())->objects.size(); };
  EXPECT_EQ(copies(), 2u);
  // Somebody who saw the old copy alone may be about to open it.
  EXPECT_EQ(CollectGarbage(*ledger_, {})->blobs, 0);
  now_ = now_ + Duration::Hours(1);
  EXPECT_EQ(CollectGarbage(*ledger_, {})->blobs, 1);
  EXPECT_EQ(copies(), 1u);
  EXPECT_TRUE(HasBlob("code"));
}

TEST_F(CollectTest, WhatOthersPutThereStays) {
  const std::string digest = Sha256Hex("x");
  for (const std::string& name : {std::string("note.txt"), digest, digest + "-copy"}) {
    ASSERT_TRUE(memory_.Put(paths::Blobs() + name, "x").ok());
  }
  now_ = now_ + Duration::Hours(24 * 31);
  EXPECT_EQ(CollectGarbage(*ledger_, {})->blobs, 0);
  EXPECT_EQ(memory_.List(paths::Blobs())->objects.size(), 3u);
}

TEST_F(CollectTest, OldJobsGoWithAllThatIsTheirs) {
  RunJob("one", "a");
  ASSERT_TRUE(memory_.Put(paths::Report("one", 1, 0), "a report").ok());
  now_ = now_ + Duration::Hours(24 * 40);
  RunJob("two", "b");
  CollectRequest request;
  request.jobs_older_than = Duration::Hours(24 * 30);
  const auto collected = CollectGarbage(*ledger_, request);
  ASSERT_TRUE(collected.ok());
  EXPECT_EQ(collected->jobs, std::vector<std::string>{"one"});
  EXPECT_TRUE(memory_.List(paths::Job("one"))->objects.empty());
  EXPECT_TRUE(memory_.List(paths::Reports("one"))->objects.empty());
  EXPECT_FALSE(HasBlob("a"));
  const auto left = ReadIndex(*ledger_);
  ASSERT_EQ(left->jobs.size(), 1u);
  EXPECT_EQ(left->jobs[0].id, "two");
}

// one saved; two went on from it and three from two, and neither saved anything.
TEST_F(CollectTest, WhatAYoungJobMayBeginFromIsKept) {
  const auto edit = [&](const std::string& id, const std::function<void(Job&)>& change) {
    ASSERT_TRUE(MutateJob(*ledger_, id, [&](Job& record) -> Result<bool> {
                  change(record);
                  return true;
                }).ok());
  };
  for (const char* id : {"zero", "one", "two"}) RunJob(id, id);
  now_ = now_ + Duration::Hours(24 * 40);
  RunJob("three", "three");
  const auto saved = [](Job& record) {
    Attempt attempt;
    attempt.number = 1;
    attempt.newest_checkpoint = "1-1";
    record.attempts.push_back(attempt);
  };
  edit("zero", saved);
  edit("one", saved);
  edit("one", [](Job& record) { record.retry_of = "zero"; });
  edit("two", [](Job& record) { record.retry_of = "one"; });
  edit("three", [](Job& record) { record.retry_of = "two"; });
  edit("three", [](Job& record) { record.state = JobState::kFailed; });
  CollectRequest request;
  request.jobs_older_than = Duration::Hours(24 * 30);
  EXPECT_EQ(CollectGarbage(*ledger_, request)->jobs, std::vector<std::string>{"zero"});
  EXPECT_TRUE(HasBlob("one"));
  // It has saved: a retry of it needs no other.
  edit("three", saved);
  EXPECT_EQ(CollectGarbage(*ledger_, request)->jobs, (std::vector<std::string>{"one", "two"}));
}

// Also where an earlier removal was cut short before it came to them.
TEST_F(CollectTest, WhatWasSaidOfAJobGoesWithIt) {
  RunJob("gone", "a");
  RunJob("cut", "a");
  for (const std::string id : {"gone", "cut"}) {
    ASSERT_TRUE(ChangeLabels(Labelled(*ledger_), id, {Noted("secret")}, ledger_->Nonce()).ok());
  }
  ASSERT_TRUE(memory_.Delete(paths::Record("cut")).ok());
  now_ = now_ + Duration::Hours(24 * 31);
  RunJob("young", "c");
  ASSERT_TRUE(ChangeLabels(Labelled(*ledger_), "young", {Noted("n")}, ledger_->Nonce()).ok());
  CollectRequest request;
  request.jobs_older_than = Duration::Hours(24);
  ASSERT_TRUE(CollectGarbage(*ledger_, request).ok());
  const auto left = ReadLabels(Labelled(*ledger_));
  EXPECT_EQ(left->of.size(), 1u);
  EXPECT_EQ(left->of.count("young"), 1u);
}

TEST_F(CollectTest, ARecordThatCannotBeReadKeepsEveryBlobAndItsLine) {
  RunJob("one", "a");
  RunJob("old", "b");
  ASSERT_TRUE(PutBlobText(*ledger_, Sha256Hex("nobody's"), "nobody's").ok());
  now_ = now_ + Duration::Hours(24 * 31);
  RunJob("young", "c");
  const std::string record = memory_.Get(paths::Record("one"))->data;
  ASSERT_TRUE(memory_.Put(paths::Record("one"), "damaged").ok());
  CollectRequest request;
  request.jobs_older_than = Duration::Hours(24);
  const auto collected = CollectGarbage(*ledger_, request);
  ASSERT_TRUE(collected.ok());
  EXPECT_EQ(collected->jobs, std::vector<std::string>{"old"});
  EXPECT_EQ(collected->blobs, 0);
  EXPECT_TRUE(HasBlob("nobody's"));
  // The index was made again from the records, but of this one the old line is all that there is.
  ASSERT_TRUE(memory_.Put(paths::Record("one"), record).ok());
  const auto left = ReadIndex(*ledger_);
  ASSERT_EQ(left->jobs.size(), 2u);
  EXPECT_EQ(left->jobs[1].id, "one");
}

TEST_F(CollectTest, AMergeBetweenTwoAnswersHidesNothing) {
  // A segment too full to be merged again. What is written by a merge after this one was listed
  // gets a name before it in some of the trials.
  std::vector<Summary> full(8000);
  for (size_t i = 0; i < full.size(); ++i) {
    full[i].id = "full" + std::to_string(i);
    full[i].name = std::string(100, 'n');
  }
  ASSERT_TRUE(memory_.Put(paths::IndexSegment("m"), EncodeSegment(full)).ok());
  RunJob("first", "a");
  for (int trial = 0; trial < Rounds(40); ++trial) {
    RunJob("job" + std::to_string(trial), "a");
    store_.page = 1;
    store_.watched = paths::Index();
    store_.meanwhile = [this] { ASSERT_TRUE(MergeIndex(*ledger_, 2).ok()); };
    const auto list = ReadIndex(*ledger_);
    ASSERT_TRUE(list.ok());
    EXPECT_EQ(list->jobs.size(), full.size() + static_cast<size_t>(trial) + 2) << trial;
    store_.page = 1000;
  }
}

}  // namespace
}  // namespace stoker
