// SPDX-License-Identifier: Apache-2.0
#include "ledger/index.h"

#include <gtest/gtest.h>
#include <time.h>

#include <map>
#include <set>
#include <thread>

#include "ledger/paths.h"
#include "ledger/records.h"
#include "ledger/resolve.h"
#include "test/contract/ledger_kit.h"
#include "test/kit/any_summary.h"
#include "test/kit/counted.h"

namespace stoker {
namespace {

class IndexTest : public ::testing::Test {
 protected:
  // Submits, ends and retires a job as the controller does.
  void RunJob(const std::string& id, const std::string& name, const std::string& user = "ann") {
    ASSERT_TRUE(CreateJob(*kit_.ledger, kit_.MakeJob(id, name, user), "").ok());
    End(id);
  }
  void End(const std::string& id) {
    const auto ended = MutateJob(*kit_.ledger, id, [](Job& job) -> Result<bool> {
      job.state = JobState::kSucceeded;
      job.result = Ending{EndReason::kCompleted, 0, 0, false, -1, ""};
      return true;
    });
    ASSERT_TRUE(ended.ok());
    ASSERT_TRUE(AppendSummary(*kit_.ledger, ended->job).ok());
    ASSERT_TRUE(RemoveActive(*kit_.ledger, id).ok());
  }
  std::vector<std::string> Segments() {
    std::vector<std::string> keys;
    const auto listing = kit_.memory.List("index/");
    for (const ObjectInfo& object : listing.value().objects) keys.push_back(object.key);
    return keys;
  }
  std::set<std::string> Ids(const Result<JobList>& list) {
    std::set<std::string> ids;
    for (const Summary& job : list.value().jobs) ids.insert(job.id);
    EXPECT_EQ(ids.size(), list.value().jobs.size());
    return ids;
  }

  LedgerKit kit_;
};

TEST_F(IndexTest, ListsEndedAndActiveNewestFirst) {
  EXPECT_TRUE(ListJobs(*kit_.ledger)->jobs.empty());
  RunJob("one", "a");
  RunJob("two", "b");
  ASSERT_TRUE(CreateJob(*kit_.ledger, kit_.MakeJob("three", "c"), "").ok());
  const auto list = ListJobs(*kit_.ledger);
  ASSERT_EQ(list->jobs.size(), 3u);
  EXPECT_EQ(list->jobs[0].id, "three");
  EXPECT_EQ(list->jobs[0].state, JobState::kPending);
  EXPECT_EQ(list->jobs[2].id, "one");
  EXPECT_EQ(list->jobs[2].reason, EndReason::kCompleted);
  EXPECT_TRUE(list->warnings.empty());
  ASSERT_TRUE(kit_.memory.Put(paths::Record("bad"), "garbage").ok());
  ASSERT_TRUE(kit_.memory.Put(paths::Active("bad"), "").ok());
  ASSERT_TRUE(kit_.memory.Put(paths::Active("orphan"), "").ok());
  const auto again = ListJobs(*kit_.ledger);
  EXPECT_EQ(again->jobs.size(), 3u);
  EXPECT_EQ(again->warnings.size(), 1u);
}

TEST_F(IndexTest, MergesSmallSegments) {
  for (int i = 0; i < 100; ++i) RunJob("job" + std::to_string(i), "n");
  EXPECT_LT(Segments().size(), 34u);
  EXPECT_EQ(Ids(ReadIndex(*kit_.ledger)).size(), 100u);
  ASSERT_TRUE(MergeIndex(*kit_.ledger, 2).ok());
  EXPECT_EQ(Segments().size(), 1u);
  EXPECT_EQ(Ids(ReadIndex(*kit_.ledger)).size(), 100u);
}

class MapCache : public Cache {
 public:
  std::optional<std::string> Get(const std::string& name) override {
    const auto found = copies.find(name);
    return found == copies.end() ? std::nullopt : std::optional(found->second);
  }
  void Keep(const std::string& name, std::string_view data) override { copies[name] = data; }
  void KeepOnly(const std::set<std::string>& names) override {
    std::erase_if(copies, [&](const auto& copy) { return !names.contains(copy.first); });
  }
  std::map<std::string, std::string> copies;
};

// What `ls` asks of a bucket: docs/benchmarks.md has it for 10,000 jobs.
TEST_F(IndexTest, WithCopiesAListIsAHandfulOfRequests) {
  for (int i = 0; i < 62; ++i) RunJob("job" + std::to_string(i), "n");
  ASSERT_EQ(Segments().size(), 31u) << "as many as there are before they are merged";
  CountedStore counted(kit_.memory);
  const auto ledger = *Ledger::Open(counted, kit_.clock, 2);
  MapCache cache;
  ledger->UseCache(&cache);
  counted.Reset();
  EXPECT_EQ(Ids(ListJobs(*ledger)).size(), 62u);
  EXPECT_EQ(counted.counts().get, 31);
  counted.Reset();
  EXPECT_EQ(Ids(ListJobs(*ledger)).size(), 62u);
  EXPECT_EQ(counted.counts().get, 0);
  EXPECT_EQ(counted.counts().all(), 3) << "who is active, and the names of both kinds of segments";
  RunJob("later", "n");  // merges, among other things
  EXPECT_EQ(Segments().size(), 1u);
  counted.Reset();
  EXPECT_EQ(Ids(ListJobs(*ledger)).size(), 63u);
  EXPECT_EQ(counted.counts().all(), 4);
  EXPECT_EQ(cache.copies.size(), 1u) << "copies of what was merged are not kept";
}

TEST_F(IndexTest, ADamagedCopyIsFetchedAgainAndAMendedSegmentIsRead) {
  for (int i = 0; i < 5; ++i) RunJob("job" + std::to_string(i), "n");
  MapCache cache;
  kit_.ledger->UseCache(&cache);
  ASSERT_EQ(Ids(ReadIndex(*kit_.ledger)).size(), 5u);
  for (auto& [name, copy] : cache.copies) copy.resize(copy.size() / 2);
  const auto list = ReadIndex(*kit_.ledger);
  EXPECT_EQ(Ids(list).size(), 5u);
  EXPECT_TRUE(list->warnings.empty()) << list->warnings[0];
  // Somebody wrote another text under the name of a segment.
  Job job = kit_.MakeJob("by-hand", "n");
  job.rev = 1;
  ASSERT_TRUE(kit_.memory.Put(Segments()[0], EncodeSegment({SummaryOf(job)})).ok());
  EXPECT_EQ(Ids(ReadIndex(*kit_.ledger)).count("by-hand"), 1u);
}

TEST_F(IndexTest, HighestRevisionWins) {
  Job job = kit_.MakeJob("job1", "old");
  job.rev = 3;
  ASSERT_TRUE(AppendSummary(*kit_.ledger, job).ok());
  job.rev = 4;
  job.name = "new";
  ASSERT_TRUE(AppendSummary(*kit_.ledger, job).ok());
  job.rev = 2;
  job.name = "older";
  ASSERT_TRUE(AppendSummary(*kit_.ledger, job).ok());
  for (int i = 0; i < 2; ++i) {
    const auto list = ReadIndex(*kit_.ledger);
    ASSERT_EQ(list->jobs.size(), 1u);
    EXPECT_EQ(list->jobs[0].name, "new");
    ASSERT_TRUE(MergeIndex(*kit_.ledger, 2).ok());
  }
}

TEST_F(IndexTest, IsMadeAgainWhenLost) {
  for (int i = 0; i < 10; ++i) RunJob("job" + std::to_string(i), "n");
  for (const std::string& key : Segments()) ASSERT_TRUE(kit_.memory.Delete(key).ok());
  const auto list = ReadIndex(*kit_.ledger);
  EXPECT_EQ(Ids(list).size(), 10u);
  EXPECT_EQ(list->warnings.size(), 1u);
  EXPECT_FALSE(Segments().empty());
  EXPECT_TRUE(ReadIndex(*kit_.ledger)->warnings.empty());
}

TEST_F(IndexTest, DamagedSegmentsAreReplaced) {
  for (int i = 0; i < 10; ++i) RunJob("job" + std::to_string(i), "n");
  const auto segments = Segments();
  ASSERT_TRUE(kit_.memory.Put(segments[3], "garbage").ok());
  const std::string cut = kit_.memory.Get(segments[5])->data;
  ASSERT_TRUE(kit_.memory.Put(segments[5], cut.substr(0, cut.size() / 2)).ok());
  const auto list = ListJobs(*kit_.ledger);
  EXPECT_EQ(Ids(list).size(), 10u);
  EXPECT_EQ(list->warnings.size(), 3u);
  EXPECT_TRUE(ListJobs(*kit_.ledger)->warnings.empty());
}

// What seed 330313 of the simulator found: the line is gone with its segment, and the record cannot
// be read when the index is made again.
TEST_F(IndexTest, ADamagedRecordInADamagedSegmentIsNotForgotten) {
  for (int i = 0; i < 3; ++i) RunJob("job" + std::to_string(i), "n");
  const std::string record = kit_.memory.Get(paths::Record("job1"))->data;
  ASSERT_TRUE(kit_.memory.Put(paths::Record("job1"), "garbage").ok());
  for (const std::string& key : Segments()) ASSERT_TRUE(kit_.memory.Put(key, "garbage").ok());
  EXPECT_EQ(Ids(ListJobs(*kit_.ledger)).size(), 2u);
  const auto again = ListJobs(*kit_.ledger);
  EXPECT_EQ(Ids(again).size(), 2u);
  ASSERT_EQ(again->warnings.size(), 1u);
  EXPECT_NE(again->warnings[0].find("job1"), std::string::npos);
  EXPECT_EQ(ActiveJobs(*kit_.ledger).value(), std::vector<std::string>{"job1"});
  ASSERT_TRUE(kit_.memory.Put(paths::Record("job1"), record).ok());
  EXPECT_EQ(Ids(ListJobs(*kit_.ledger)).size(), 3u);
}

TEST_F(IndexTest, NewerSegmentsAreLeftAlone) {
  RunJob("job1", "n");
  ASSERT_TRUE(kit_.memory.Put("index/new.jsonl", "[\"future\"]\n{\"format\":2,\"x\":1}\n").ok());
  const auto list = ReadIndex(*kit_.ledger);
  EXPECT_EQ(Ids(list).size(), 1u);
  EXPECT_EQ(list->warnings.size(), 1u);
  ASSERT_TRUE(MergeIndex(*kit_.ledger, 2).ok());
  ASSERT_TRUE(RebuildIndex(*kit_.ledger).ok());
  EXPECT_TRUE(kit_.memory.Head("index/new.jsonl").ok());
  EXPECT_EQ(Ids(ReadIndex(*kit_.ledger)).size(), 1u);
}

// Merging and rebuilding with failures anywhere loses no line.
TEST_F(IndexTest, FaultsLoseNothing) {
  for (int i = 0; i < 40; ++i) RunJob("job" + std::to_string(i), "n");
  for (int round = 0; round < 60; ++round) {
    FaultPlan plan;
    plan.before = 60;
    plan.after = 60;
    kit_.faulty.SetPlan(plan);
    (void)(round % 2 == 0 ? MergeIndex(*kit_.ledger, 2) : RebuildIndex(*kit_.ledger));
    kit_.faulty.SetPlan({});
    ASSERT_EQ(Ids(ReadIndex(*kit_.ledger)).size(), 40u) << round;
  }
}

TEST_F(IndexTest, ManyAtOnce) {
  for (int i = 0; i < 20; ++i) RunJob("base" + std::to_string(i), "n");
  std::atomic<int> working = 3;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 60; ++i) {
        Job job;
        job.id = "t" + std::to_string(t) + "-" + std::to_string(i);
        job.state = JobState::kSucceeded;
        EXPECT_TRUE(AppendSummary(*kit_.ledger, job).ok());
        if (i % 20 == 7) {
          EXPECT_TRUE(MergeIndex(*kit_.ledger, 2).ok());
        }
      }
      --working;
    });
  }
  threads.emplace_back([&] {
    while (working > 0) {
      const auto list = ReadIndex(*kit_.ledger);
      EXPECT_TRUE(list.ok() || list.code() == Code::kBusy) << list.status().ToString();
      EXPECT_TRUE(!list.ok() || list.value().jobs.size() >= 20);
    }
  });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(Ids(ReadIndex(*kit_.ledger)).size(), 200u);
}

// Processor time of this thread: what else runs on the machine does not count.
double ThreadMs() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

// Against a tenth of the jobs, so that it says the same on a slow or busy machine.
TEST_F(IndexTest, TimeGrowsWithTheNumberOfJobs) {
  Prng prng(5);
  const auto add = [&](int segments) {
    for (int i = 0; i < segments; ++i) {
      std::vector<Summary> part;
      for (int n = 0; n < 1000; ++n) part.push_back(AnySummary(prng, n));
      const std::string key = paths::IndexSegment(kit_.ledger->Nonce());
      ASSERT_TRUE(kit_.memory.Put(key, EncodeSegment(part)).ok());
    }
  };
  const auto best_ms = [&](size_t jobs) {
    double best = 1e9;
    for (int i = 0; i < 5; ++i) {
      const double start = ThreadMs();
      EXPECT_EQ(ListJobs(*kit_.ledger).value().jobs.size(), jobs);
      best = std::min(best, ThreadMs() - start);
    }
    return best;
  };
  add(1);
  const double thousand = best_ms(1000);
  add(9);
  const double ten_thousand = best_ms(10'000);
  std::printf("1,000 jobs in %.1f ms, 10,000 in %.1f ms\n", thousand, ten_thousand);
  EXPECT_LT(ten_thousand, 60 * thousand);
}

TEST_F(IndexTest, ResolvesWhatPeopleType) {
  RunJob("abc1", "digits");
  RunJob("abd2", "digits");
  RunJob("xyz3", "other", "bob");
  ASSERT_TRUE(CreateJob(*kit_.ledger, kit_.MakeJob("xyq4", "digits", "bob"), "").ok());
  const auto id = [&](const std::string& word, const std::string& user = "ann") {
    const auto job = ResolveJob(*kit_.ledger, word, {"", user, ""});
    return job.ok() ? job->id : std::string(CodeName(job.code()));
  };
  EXPECT_EQ(id("abc1"), "abc1");
  EXPECT_EQ(id("abd"), "abd2");
  EXPECT_EQ(id("digits"), "abd2");
  EXPECT_EQ(id("digits", "bob"), "xyq4");
  EXPECT_EQ(id("-"), "abd2");
  EXPECT_EQ(id("-", "bob"), "xyq4");
  EXPECT_EQ(id("-", "eve"), "not_found");
  EXPECT_EQ(id("other"), "xyz3");
  EXPECT_EQ(id("ab"), "invalid");
  EXPECT_EQ(id("nothing"), "not_found");
  EXPECT_EQ(id("../x"), "not_found");
  EXPECT_EQ(id(""), "not_found");
  EXPECT_NE(ResolveJob(*kit_.ledger, "digits", {"", "ann", ""})->note.find("2 jobs"),
            std::string::npos);
  EXPECT_EQ(ResolveJob(*kit_.ledger, "digits", {"", "bob", ""})->note, "");
  EXPECT_NE(ResolveJob(*kit_.ledger, "other", {"", "ann", ""})->note.find("bob"),
            std::string::npos);
  EXPECT_NE(ResolveJob(*kit_.ledger, "ab", {"", "ann", ""}).status().message().find("abd2"),
            std::string::npos);
  EXPECT_NE(ResolveJob(*kit_.ledger, "digist", {"", "ann", ""}).status().next().find("digits"),
            std::string::npos);
}

TEST_F(IndexTest, WhatPeopleSayOfAJobIsInTheListAndTheRecordStays) {
  RunJob("abc1", "digits");
  RunJob("abd2", "digits");
  const std::string record = kit_.memory.Get(paths::Record("abd2"))->data;
  const auto say = [&](const std::string& id, const std::vector<LabelChange>& changes) {
    ASSERT_TRUE(ChangeLabels(Labelled(*kit_.ledger), id, changes, kit_.ledger->Nonce()).ok());
  };
  say("abd2", {Renamed("baseline"), Tagged("best", true), Noted("keep")});
  const auto list = ListJobs(*kit_.ledger);
  ASSERT_EQ(list->jobs.size(), 2u);
  EXPECT_EQ(list->jobs[0].name + " " + list->jobs[0].said->first_name, "baseline digits");
  EXPECT_EQ(TagsOf(list->jobs[0]), std::vector<std::string>{"best"});
  EXPECT_EQ(NoteOf(list->jobs[0]), "keep");
  EXPECT_EQ(kit_.memory.Get(paths::Record("abd2"))->data, record);
  // The old name is free for others, and never means it.
  EXPECT_EQ(ResolveJob(*kit_.ledger, "baseline", {"", "ann", ""})->id, "abd2");
  EXPECT_EQ(ResolveJob(*kit_.ledger, "digits", {"", "ann", ""})->id, "abc1");
  say("abc1", {Renamed("other")});
  const auto gone = ResolveJob(*kit_.ledger, "digits", {"", "ann", ""});
  EXPECT_TRUE(gone.status().Is(Code::kNotFound));
  EXPECT_NE(gone.status().next().find("baseline"), std::string::npos) << gone.status().next();
}

// What acts on a job means the one that runs, although a newer one of the name has ended.
TEST_F(IndexTest, ANameMeansTheJobThatHasNotEnded) {
  const auto submit = [&](const std::string& id, const std::string& user) {
    ASSERT_TRUE(CreateJob(*kit_.ledger, kit_.MakeJob(id, "digits", user), "").ok());
  };
  const auto resolve = [&](NameMeans means, const std::string& user = "ann") {
    const auto job = ResolveJob(*kit_.ledger, "digits", {"", user, ""}, means);
    return job.ok() ? *job : ResolvedJob{job.status().ToString(), ""};
  };
  submit("aaa1", "ann");
  submit("aaa2", "bob");
  RunJob("aaa3", "digits");
  EXPECT_EQ(resolve(NameMeans::kRunning).id, "aaa1");
  EXPECT_EQ(resolve(NameMeans::kRunning).note,
            "aaa1 of 2 jobs named 'digits': the one that has not ended");
  EXPECT_EQ(resolve(NameMeans::kNewest).id, "aaa3");
  EXPECT_EQ(resolve(NameMeans::kNewest).note,
            "aaa3 of 2 jobs named 'digits': the newest; aaa1 has not ended");
  EXPECT_EQ(resolve(NameMeans::kRunning, "eve").id, "aaa2") << "the newest of anybody's that runs";
  submit("aaa4", "ann");
  EXPECT_EQ(resolve(NameMeans::kRunning).note,
            "aaa4 of 3 jobs named 'digits': the newest; 1 more has not ended");
  RunJob("aaa5", "digits");
  EXPECT_EQ(resolve(NameMeans::kRunning).note,
            "aaa4 of 4 jobs named 'digits': the newest of 2 that have not ended");
  RunJob("bbb1", "other");
  RunJob("bbb2", "other");
  const auto ended = ResolveJob(*kit_.ledger, "other", {"", "ann", ""}, NameMeans::kRunning);
  EXPECT_EQ(ended->id, "bbb2") << "where none runs, the newest";
  EXPECT_EQ(ended->note, "bbb2 of 2 jobs named 'other': the newest");
}

// Two machines may both have a user "ubuntu".
TEST_F(IndexTest, AUserNameIsNoPerson) {
  const auto submit = [&](const std::string& id, const std::string& me, const std::string& host) {
    Job job = kit_.MakeJob(id, "digits", "ubuntu");
    job.me = me;
    job.host = host;
    job.user_host = "box-" + me;
    ASSERT_TRUE(CreateJob(*kit_.ledger, job, "").ok());
  };
  submit("aaa1", "p1", "");
  submit("aaa2", "p2", "h2");
  submit("aaa3", "", "h3");  // an older stoker's
  submit("aaa4", "", "");
  const auto listed = *ListJobs(*kit_.ledger);
  const auto whose = [&](const Person& person) {
    std::string all;  // newest first
    for (const Summary& job : listed.jobs) {
      const Whose is = WhoseIs(job, person);
      all += is == Whose::kMine ? 'm' : is == Whose::kOther ? 'o' : 'u';
    }
    return all;
  };
  EXPECT_EQ(whose({"p1", "ubuntu", "h1"}), "uoom");
  EXPECT_EQ(whose({"p2", "ubuntu", "h3"}), "ummo");
  EXPECT_EQ(whose({"p2", "root", "h2"}), "oomo") << "the id counts, whatever the name is";
  EXPECT_EQ(whose({"", "ubuntu", "h2"}), "uomo") << "without an id, the computer tells";
  EXPECT_EQ(whose({"p9", "ann", "h3"}), "oooo");
  const auto last = ResolveJob(*kit_.ledger, "-", {"p1", "ubuntu", "h1"});
  EXPECT_EQ(last->id, "aaa4");
  submit("aaa5", "p2", "");
  EXPECT_EQ(ResolveJob(*kit_.ledger, "-", {"p1", "ubuntu", "h1"})->id, "aaa4");
  EXPECT_EQ(ResolveJob(*kit_.ledger, "digits", {"p9", "ubuntu", ""})->id, "aaa4");
  const auto other = ResolveJob(*kit_.ledger, "digits", {"p9", "eve", "h9"});
  EXPECT_EQ(other->id, "aaa5");
  EXPECT_EQ(other->note, "'digits' is a job of ubuntu: aaa5");
}

}  // namespace
}  // namespace stoker
