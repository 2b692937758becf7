// SPDX-License-Identifier: Apache-2.0
#include "ledger/collect/collect.h"

#include <gtest/gtest.h>

#include "base/digest.h"
#include "ledger/blobs.h"
#include "ledger/collect/doomed.h"
#include "ledger/index.h"
#include "ledger/paths.h"
#include "ledger/records.h"
#include "store/forwarding.h"
#include "test/contract/ledger_kit.h"
#include "test/kit/rounds.h"

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
  static void Saved(Job& record) {
    Attempt attempt;
    attempt.number = 1;
    attempt.newest_checkpoint = "1-1";
    record.attempts = {attempt};
    record.state = JobState::kFailed;
  }
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
  void Edit(const std::string& id, const std::function<void(Job&)>& change) {
    ASSERT_TRUE(MutateJob(*ledger_, id, [&](Job& record) -> Result<bool> {
                  change(record);
                  return true;
                }).ok());
  }
  // Both steps, an hour apart.
  Removed Collect(std::optional<Duration> older_than = std::nullopt) {
    CollectRequest request;
    request.jobs_older_than = older_than;
    EXPECT_TRUE(CollectGarbage(*ledger_, request).ok());
    return AnHourLater();
  }
  Removed AnHourLater() {
    now_ = now_ + kDoomedFor;
    Survey survey;
    const auto removed = RemoveDue(*ledger_, {}, &survey);
    EXPECT_TRUE(removed.ok()) << removed.status().ToString();
    return removed.value_or(Removed());
  }
  size_t Lists() { return memory_.List(paths::Doomed())->objects.size(); }
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
  EXPECT_EQ(CollectGarbage(*ledger_, request)->doomed.blobs, 1);
  EXPECT_EQ(Lists(), 0u);
  request.dry_run = false;
  EXPECT_EQ(CollectGarbage(*ledger_, request)->doomed.blobs, 1);
  EXPECT_TRUE(HasBlob("nobody's"));
  EXPECT_EQ(CollectGarbage(*ledger_, request)->doomed.blobs, 0) << "it is already";
  EXPECT_EQ(AnHourLater().blobs, 1);
  EXPECT_EQ(Lists(), 0u);
  EXPECT_FALSE(HasBlob("nobody's"));
  EXPECT_TRUE(HasBlob("wanted"));
  EXPECT_TRUE(HasBlob("young"));
}

// On a full disk what is to go goes at once, by name, and the list of jobs is mended when there is
// room.
TEST_F(CollectTest, OnAFullDisk) {
  RunJob("one", "old code");
  RunJob("two", "old code");
  now_ = now_ + Duration::Hours(48);
  RunJob("young", "new code");
  CollectRequest request;
  request.jobs_older_than = Duration::Hours(24);
  request.dry_run = true;
  const auto would = CollectGarbage(*ledger_, request);
  EXPECT_EQ(would->doomed.jobs, (std::vector<std::string>{"one", "two"}));
  store_.full = true;
  request.dry_run = false;
  const auto collected = CollectGarbage(*ledger_, request);
  ASSERT_TRUE(collected.ok()) << collected.status().ToString();
  EXPECT_TRUE(collected->doomed.jobs.empty());
  EXPECT_TRUE(collected->not_doomed.Is(Code::kNoSpace)) << collected->not_doomed.ToString();
  Survey survey;
  ASSERT_TRUE(Recheck(*ledger_, {}, &survey).ok());
  const auto now = RemoveNow(*ledger_, {"one", "two"}, {}, &survey);
  ASSERT_TRUE(now.ok()) << now.status().ToString();
  EXPECT_EQ(now->jobs, (std::vector<std::string>{"one", "two"}));
  EXPECT_GT(now->job_bytes, 0);
  EXPECT_EQ(would->doomed.job_bytes, now->job_bytes);
  EXPECT_TRUE(now->index.Is(Code::kNoSpace)) << now->index.ToString();
  EXPECT_EQ(ReadIndex(*ledger_)->jobs.size(), 3u) << "stale, and said so";
  store_.full = false;
  const auto again = CollectGarbage(*ledger_, request);
  EXPECT_TRUE(again->doomed.jobs.empty() && again->removed.index.ok());
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
  EXPECT_TRUE(collected->doomed.jobs.empty());
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
  EXPECT_EQ(collected->doomed.blobs, 1);  // the old copy; the job has its own
  EXPECT_EQ(AnHourLater().blobs, 0);
  EXPECT_TRUE(HasBlob("code"));
}

TEST_F(CollectTest, AnOldCopyGoesWhenAYoungerOneIsThere) {
  RunJob("one", "code");
  now_ = now_ + Duration::Hours(24 * 31);
  EXPECT_EQ(CollectGarbage(*ledger_, {})->removed.blobs, 0);
  RunJob("two", "code");
  const auto copies = [this] { return memory_.List(paths::Blobs())->objects.size(); };
  EXPECT_EQ(copies(), 2u);
  // Somebody who saw the old copy alone may be about to open it.
  EXPECT_EQ(CollectGarbage(*ledger_, {})->removed.blobs, 0);
  now_ = now_ + Duration::Hours(1);
  EXPECT_EQ(CollectGarbage(*ledger_, {})->removed.blobs, 1);
  EXPECT_EQ(copies(), 1u);
  EXPECT_TRUE(HasBlob("code"));
}

TEST_F(CollectTest, WhatOthersPutThereStays) {
  const std::string digest = Sha256Hex("x");
  for (const std::string& name : {std::string("note.txt"), digest, digest + "-copy"}) {
    ASSERT_TRUE(memory_.Put(paths::Blobs() + name, "x").ok());
  }
  now_ = now_ + Duration::Hours(24 * 31);
  EXPECT_EQ(CollectGarbage(*ledger_, {})->removed.blobs, 0);
  EXPECT_EQ(memory_.List(paths::Blobs())->objects.size(), 3u);
}

TEST_F(CollectTest, OldJobsGoWithAllThatIsTheirs) {
  RunJob("one", "a");
  ASSERT_TRUE(memory_.Put(paths::Report("one", 1, 0), "a report").ok());
  now_ = now_ + Duration::Hours(24 * 40);
  RunJob("two", "b");
  EXPECT_EQ(Collect(Duration::Hours(24 * 30)).jobs, std::vector<std::string>{"one"});
  EXPECT_TRUE(memory_.List(paths::Job("one"))->objects.empty());
  EXPECT_TRUE(memory_.List(paths::Reports("one"))->objects.empty());
  EXPECT_FALSE(HasBlob("a"));
  const auto left = ReadIndex(*ledger_);
  ASSERT_EQ(left->jobs.size(), 1u);
  EXPECT_EQ(left->jobs[0].id, "two");
}

// one saved; two went on from it and three from two, and neither saved anything.
TEST_F(CollectTest, WhatAYoungJobMayBeginFromIsKept) {
  for (const char* id : {"zero", "one", "two"}) RunJob(id, id);
  now_ = now_ + Duration::Hours(24 * 40);
  RunJob("three", "three");
  for (const char* id : {"zero", "one"}) Edit(id, Saved);
  Edit("one", [](Job& record) { record.retry_of = "zero"; });
  Edit("two", [](Job& record) { record.retry_of = "one"; });
  Edit("three", [](Job& record) { record.retry_of = "two"; });
  Edit("three", [](Job& record) { record.state = JobState::kFailed; });
  const Duration month = Duration::Hours(24 * 30);
  EXPECT_EQ(Collect(month).jobs, std::vector<std::string>{"zero"});
  EXPECT_TRUE(HasBlob("one"));
  // All that it saved is suspect: a retry of it begins from what it began from.
  Edit("three", Saved);
  Edit("three", [](Job& record) { record.suspects = {"1-1"}; });
  EXPECT_TRUE(Collect(month).jobs.empty());
  Edit("three", [](Job& record) { record.suspects.clear(); });
  EXPECT_EQ(Collect(month).jobs, (std::vector<std::string>{"one", "two"}));
}

// What it was promised, or began from, lies behind one that has saved.
TEST_F(CollectTest, WhatAJobWasPromisedIsKept) {
  for (const char* id : {"far", "near"}) RunJob(id, id);
  for (const char* id : {"far", "near"}) Edit(id, Saved);
  Edit("near", [](Job& record) { record.retry_of = "far"; });
  Job next;
  next.id = "next";
  next.retry_of = "near";
  next.promised = "far/1-1";
  ASSERT_TRUE(CreateJob(*ledger_, next, "run: x\n").ok());
  now_ = now_ + Duration::Hours(48);
  EXPECT_TRUE(Collect(Duration::Hours(24)).jobs.empty());
  Edit("next", [](Job& record) { record.promised = "near/1-1"; });
  EXPECT_EQ(Collect(Duration::Hours(24)).jobs, std::vector<std::string>{"far"});
}

// It ran when its record became unreadable: nobody knows what it goes on from.
TEST_F(CollectTest, ARecordThatCannotBeReadKeepsEveryJob) {
  RunJob("old", "a");
  Edit("old", Saved);
  Job next;
  next.id = "next";
  next.retry_of = "old";
  ASSERT_TRUE(CreateJob(*ledger_, next, "run: x\n").ok());
  const std::string record = memory_.Get(paths::Record("next"))->data;
  for (const char* damaged : {"damaged", "{\"format\":99,\"id\":\"next\"}"}) {
    ASSERT_TRUE(memory_.Put(paths::Record("next"), damaged).ok());
    now_ = now_ + Duration::Hours(48);
    CollectRequest request;
    request.jobs_older_than = Duration::Hours(24);
    const auto collected = CollectGarbage(*ledger_, request);
    ASSERT_TRUE(collected.ok());
    EXPECT_TRUE(collected->doomed.jobs.empty());
    EXPECT_EQ(collected->kept.needed, (std::map<std::string, std::string>{{"old", "next"}}));
    EXPECT_EQ(collected->blind, std::vector<std::string>{"next"});
  }
  // Nor does it go where it was doomed before, and stays so until somebody knows.
  ASSERT_TRUE(Doom(*ledger_, now_, {"old"}, {}, "ann", false).ok());
  EXPECT_EQ(AnHourLater().needed, (std::map<std::string, std::string>{{"old", "next"}}));
  EXPECT_EQ(Lists(), 1u);
  ASSERT_TRUE(memory_.Put(paths::Record("next"), record).ok());
  EXPECT_TRUE(AnHourLater().jobs.empty());
  EXPECT_EQ(Lists(), 0u);
}

// In the middle of a row; the index knows how it ended, but not what of it was suspect.
TEST_F(CollectTest, ARecordInTheRowThatCannotBeRead) {
  for (const char* id : {"one", "two"}) RunJob(id, id);
  for (const char* id : {"one", "two"}) Edit(id, Saved);
  Edit("two", [](Job& record) { record.retry_of = "one"; });
  ASSERT_TRUE(AppendSummary(*ledger_, ReadJob(*ledger_, "two")->job).ok());
  Job next;
  next.id = "next";
  next.retry_of = "two";
  ASSERT_TRUE(CreateJob(*ledger_, next, "run: x\n").ok());
  now_ = now_ + Duration::Hours(48);
  ASSERT_TRUE(memory_.Put(paths::Record("two"), "damaged").ok());
  EXPECT_TRUE(Collect(Duration::Hours(24)).jobs.empty());
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
  EXPECT_EQ(Collect(Duration::Hours(24)).jobs, std::vector<std::string>{"gone"});
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
  const Removed removed = Collect(Duration::Hours(24));
  EXPECT_EQ(removed.jobs, std::vector<std::string>{"old"}) << "the index says that it is done";
  EXPECT_EQ(removed.blobs, 0);
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

// What killed submits left, and a node that wrote once more after its job was removed.
TEST_F(CollectTest, WhatIsOfNoRecordGoesAfterADay) {
  RunJob("job", "a");
  ASSERT_TRUE(memory_.Put(paths::Spec("dead"), "run: x\n").ok());
  ASSERT_TRUE(memory_.Put(paths::Report("late", 1, 0), "{}").ok());
  now_ = now_ + Duration::Hours(23);
  ASSERT_TRUE(memory_.Put(paths::Spec("submitting"), "run: x\n").ok());
  EXPECT_TRUE(CollectGarbage(*ledger_, {})->left_over.empty());
  now_ = now_ + Duration::Hours(1);
  CollectRequest request;
  request.dry_run = true;
  const std::vector<std::string> dead = {"dead", "late"};
  EXPECT_EQ(CollectGarbage(*ledger_, request)->left_over, dead);
  store_.page = 1;
  const auto collected = CollectGarbage(*ledger_, {});
  EXPECT_EQ(collected->left_over, dead);
  EXPECT_GT(collected->left_over_bytes, 0);
  EXPECT_TRUE(memory_.List("jobs/dead")->objects.empty());
  EXPECT_TRUE(memory_.Head(paths::Spec("submitting")).ok());
  EXPECT_TRUE(memory_.Head(paths::Spec("job")).ok());
}

}  // namespace
}  // namespace stoker
