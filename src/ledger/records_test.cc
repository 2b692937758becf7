// SPDX-License-Identifier: Apache-2.0
#include "ledger/records.h"

#include <gtest/gtest.h>

#include <thread>

#include "ledger/claims.h"
#include "ledger/paths.h"
#include "ledger/reports.h"
#include "test/contract/ledger_kit.h"
#include "test/kit/counted.h"

namespace stoker {
namespace {

TEST(Ledger, IsMadeOnce) {
  MemoryStore store;
  StillClock clock;
  std::vector<std::string> ids(8);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < ids.size(); ++i) {
    threads.emplace_back([&, i] { ids[i] = (*Ledger::Open(store, clock, i))->id(); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& id : ids) EXPECT_EQ(id, ids[0]);
  EXPECT_TRUE(IsSafeName(ids[0]));
}

TEST(Ledger, IsMadeDespiteLostAnswers) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    MemoryStore memory;
    StillClock clock;
    FaultPlan plan;
    plan.after = 1000;
    plan.only = [](StoreCall call, const std::string&) { return call == StoreCall::kPut; };
    FaultyStore faulty(memory, seed, plan);
    const auto ledger = Ledger::Open(faulty, clock, seed);
    ASSERT_TRUE(ledger.ok()) << ledger.status().ToString();
    EXPECT_EQ((*Ledger::Open(memory, clock, seed + 1))->id(), (*ledger)->id());
  }
}

TEST(Ledger, IsNotMadeByLooking) {
  MemoryStore store;
  StillClock clock;
  EXPECT_EQ(Ledger::Open(store, clock, 1, NewLedger::kNever).code(), Code::kNotFound);
  EXPECT_TRUE(store.List("").value().objects.empty());
  const auto restored = Ledger::Restore(store, clock, 2, "lbefore");
  EXPECT_EQ((*restored)->id(), "lbefore");
  EXPECT_EQ((*Ledger::Restore(store, clock, 3, "lother"))->id(), "lbefore") << "the first one";
  const auto there = Ledger::Open(store, clock, 4, NewLedger::kNever);
  EXPECT_EQ((*there)->id(), "lbefore");
  EXPECT_FALSE((*there)->made());
}

TEST(Ledger, RefusesWhatIsNone) {
  StillClock clock;
  const std::pair<std::string, Code> kBad[] = {
      {"", Code::kCorrupt},
      {"{}", Code::kCorrupt},
      {"\xff\xfe", Code::kCorrupt},
      {R"({"format":1})", Code::kCorrupt},
      {R"({"format":1,"id":"../x"})", Code::kCorrupt},
      {R"({"format":-1,"id":"x"})", Code::kCorrupt},
      {R"({"format":2,"id":"x"})", Code::kTooNew},
      {R"({"format":18446744073709551615})", Code::kTooNew},
  };
  for (const auto& [text, code] : kBad) {
    MemoryStore store;
    ASSERT_TRUE(store.Put("ledger.json", text).ok());
    const auto ledger = Ledger::Open(store, clock, 1);
    EXPECT_EQ(ledger.code(), code) << text;
    EXPECT_NE(ledger.status().message().find("ledger.json"), std::string::npos);
    EXPECT_FALSE(ledger.status().next().empty());
  }
}

TEST(Records, LiveTheirLife) {
  LedgerKit kit;
  const auto created = CreateJob(*kit.ledger, kit.MakeJob("job1", "digits"), "run: x\n");
  ASSERT_TRUE(created.ok()) << created.status().ToString();
  EXPECT_EQ(created->job.rev, 1);
  EXPECT_EQ(ReadSpec(*kit.ledger, created->job).value(), "run: x\n");
  EXPECT_EQ(ActiveJobs(*kit.ledger).value(), std::vector<std::string>{"job1"});
  EXPECT_EQ(CreateJob(*kit.ledger, kit.MakeJob("job1", "other"), "run: y\n").code(), Code::kExists);

  Job changed = created->job;
  changed.state = JobState::kRunning;
  const auto updated = UpdateJob(*kit.ledger, *created, changed);
  ASSERT_TRUE(updated.ok());
  EXPECT_EQ(updated->job.rev, 2);
  EXPECT_NE(updated->job.writer, created->job.writer);
  EXPECT_EQ(UpdateJob(*kit.ledger, *created, changed).code(), Code::kConflict);
  EXPECT_EQ(ReadJob(*kit.ledger, "job1")->job.state, JobState::kRunning);
  EXPECT_EQ(ReadJob(*kit.ledger, "none").code(), Code::kNotFound);
  EXPECT_EQ(ReadJob(*kit.ledger, "../x").code(), Code::kInvalid);
  ASSERT_TRUE(RemoveActive(*kit.ledger, "job1").ok());
  EXPECT_TRUE(ActiveJobs(*kit.ledger)->empty());
}

TEST(Records, RefuseStrangers) {
  LedgerKit kit;
  ASSERT_TRUE(CreateJob(*kit.ledger, kit.MakeJob("job1", "x"), "").ok());
  const std::string text = kit.memory.Get(paths::Record("job1"))->data;
  ASSERT_TRUE(kit.memory.Put(paths::Record("job2"), text).ok());
  EXPECT_EQ(ReadJob(*kit.ledger, "job2").code(), Code::kCorrupt);
  ASSERT_TRUE(kit.memory.Put(paths::Record("job3"), R"({"format":99})").ok());
  EXPECT_EQ(ReadJob(*kit.ledger, "job3").code(), Code::kTooNew);
}

// The order of CreateJob: whatever dies in between leaves no record without its spec and marker.
TEST(Records, ARecordIsNeverWithoutSpecAndMarker) {
  for (int fail = 0; fail < 3; ++fail) {
    LedgerKit kit;
    int puts = 0;
    FaultPlan plan;
    plan.before = 1000;
    plan.only = [&](StoreCall call, const std::string&) {
      return call == StoreCall::kPut && puts++ == fail;
    };
    kit.faulty.SetPlan(plan);
    EXPECT_FALSE(CreateJob(*kit.ledger, kit.MakeJob("job1", "x"), "spec").ok());
    kit.faulty.SetPlan({});
    EXPECT_EQ(ReadJob(*kit.ledger, "job1").code(), Code::kNotFound);
  }
}

// Four writers add to a number in the record while requests and answers get lost. Every confirmed
// change is there once; one that ended in an error is there at most once.
TEST(Records, ChangesAreCountedOnceDespiteFaults) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    LedgerKit kit(seed);
    ASSERT_TRUE(CreateJob(*kit.ledger, kit.MakeJob("job1", "x"), "").ok());
    FaultPlan plan;
    plan.before = 60;
    plan.after = 60;
    plan.throttled = 60;
    kit.faulty.SetPlan(plan);
    std::atomic<int> confirmed = 0;
    std::atomic<int> unknown = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        for (int n = 0; n < 25; ++n) {
          const auto changed = MutateJob(*kit.ledger, "job1", [](Job& job) -> Result<bool> {
            ++job.error_restarts;
            return true;
          });
          if (changed.ok())
            ++confirmed;
          else if (changed.status().transient())
            ++unknown;
          else
            ADD_FAILURE() << changed.status().ToString();
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    kit.faulty.SetPlan({});
    EXPECT_GT(kit.faulty.injected(), 0);
    const Job job = ReadJob(*kit.ledger, "job1")->job;
    EXPECT_EQ(job.rev - 1, job.error_restarts);
    EXPECT_GE(job.error_restarts, confirmed);
    // A lost answer that somebody else overtook before it could be settled counts twice at most.
    EXPECT_LE(job.error_restarts, 2 * (confirmed + unknown));
  }
}

// With one writer a lost answer is always settled: never twice, never a conflict.
TEST(Records, ALostAnswerIsSettledByItsNonce) {
  LedgerKit kit;
  ASSERT_TRUE(CreateJob(*kit.ledger, kit.MakeJob("job1", "x"), "").ok());
  FaultPlan plan;
  plan.after = 1000;
  plan.only = [](StoreCall call, const std::string&) { return call == StoreCall::kPut; };
  kit.faulty.SetPlan(plan);
  for (int n = 1; n <= 20; ++n) {
    const auto changed = MutateJob(*kit.ledger, "job1", [](Job& job) -> Result<bool> {
      ++job.error_restarts;
      return true;
    });
    ASSERT_TRUE(changed.ok()) << changed.status().ToString();
    EXPECT_EQ(changed->job.error_restarts, n);
  }
}

TEST(Records, KeepsWhatANewerVersionAdded) {
  LedgerKit kit;
  ASSERT_TRUE(CreateJob(*kit.ledger, kit.MakeJob("job1", "x"), "").ok());
  std::string text = kit.memory.Get(paths::Record("job1"))->data;
  text.insert(text.find('{') + 1, R"("gang":{"size":8},)");
  ASSERT_TRUE(kit.memory.Put(paths::Record("job1"), text).ok());
  ASSERT_TRUE(MutateJob(*kit.ledger, "job1", [](Job& job) -> Result<bool> {
                job.name = "y";
                return true;
              }).ok());
  const std::string after = kit.memory.Get(paths::Record("job1"))->data;
  EXPECT_NE(after.find("gang"), std::string::npos);
  EXPECT_NE(after.find("\"y\""), std::string::npos);
}

TEST(Claims, OneHolderOnly) {
  LedgerKit kit;
  std::atomic<int> won = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      const ClaimHolder me{"i-" + std::to_string(i), "boot", i, "inc-" + std::to_string(i)};
      const auto claim = ClaimAttempt(*kit.ledger, "job1", 1, 0, me);
      ASSERT_TRUE(claim.ok());
      if (claim->result == ClaimResult::kWon)
        ++won;
      else
        EXPECT_EQ(claim->result, ClaimResult::kOther);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(won, 1);
}

TEST(Records, KeptMachinesAreEndedOnce) {
  LedgerKit kit;
  Job job = kit.MakeJob("job1", "x");
  const WallTime now = kit.clock.Wall();
  AppendRequest(job, {0, 1, 2}).token = "t";
  for (Launch& launch : job.launches) launch.closed = true;
  for (Launch& launch : job.launches) launch.close_reason = CloseReason::kKept;
  job.launches[0].kept_until = now + Duration::Hours(1'000'000);
  job.launches[1].kept_until = WallTime{1'000};  // it was over before
  ASSERT_TRUE(CreateJob(*kit.ledger, job, "x").ok());
  const auto ended = EndKeptInRecord(*kit.ledger, "job1", "ann");
  ASSERT_TRUE(ended.ok()) << ended.status().ToString();
  EXPECT_FALSE(KeptUntil(ended->job, ended->store_now));
  EXPECT_NE(ended->job.launches[0].close_why.find("ann"), std::string::npos);
  EXPECT_EQ(ended->job.launches[1].kept_until, (WallTime{1'000}));
  EXPECT_EQ(EndKeptInRecord(*kit.ledger, "job1", "bob")->job.rev, ended->job.rev);
}

TEST(Claims, KnowOurselvesAndSurviveLostAnswers) {
  LedgerKit kit;
  const ClaimHolder me{"i-1", "boot", 1, "first"};
  FaultPlan plan;
  plan.after = 1000;
  plan.only = [](StoreCall call, const std::string&) { return call == StoreCall::kPut; };
  kit.faulty.SetPlan(plan);
  EXPECT_EQ(ClaimAttempt(*kit.ledger, "job1", 1, 0, me)->result, ClaimResult::kWon);
  kit.faulty.SetPlan({});
  EXPECT_EQ(ClaimAttempt(*kit.ledger, "job1", 1, 0, me)->result, ClaimResult::kWon);
  ClaimHolder again = me;
  again.incarnation = "second";
  const auto before = ClaimAttempt(*kit.ledger, "job1", 1, 0, again);
  EXPECT_EQ(before->result, ClaimResult::kOursBefore);
  EXPECT_EQ(before->holder.incarnation, "first");
  ClaimHolder other = again;
  other.instance_id = "i-2";
  EXPECT_EQ(ClaimAttempt(*kit.ledger, "job1", 1, 0, other)->result, ClaimResult::kOther);
  EXPECT_EQ(ClaimAttempt(*kit.ledger, "job1", 1, 1, other)->result, ClaimResult::kWon);
  ASSERT_TRUE(kit.memory.Put(paths::Claim("job1", 2, 0), "garbage").ok());
  EXPECT_EQ(ClaimAttempt(*kit.ledger, "job1", 2, 0, me).code(), Code::kCorrupt);
}

TEST(Reports, OnlyChangedOnesAreFetched) {
  LedgerKit kit;
  CountedStore counted(kit.memory);
  const auto ledger = Ledger::Open(counted, kit.clock, 5);
  NodeReport report;
  report.job = "job1";
  for (int rank = 0; rank < 4; ++rank) {
    report.attempt = 1;
    report.rank = rank;
    report.seq = 1;
    ASSERT_TRUE(WriteReport(**ledger, report).ok());
  }
  ReportReader reader(**ledger);
  counted.Reset();
  EXPECT_EQ(reader.Read("job1")->size(), 4u);
  EXPECT_EQ(counted.counts().get, 4);
  report.seq = 2;
  ASSERT_TRUE(WriteReport(**ledger, report).ok());
  counted.Reset();
  const auto reports = reader.Read("job1");
  EXPECT_EQ(counted.counts().get, 1);
  EXPECT_EQ(reports->back().report.seq, 2);
  EXPECT_LE(reports->front().written, reports->back().written);

  std::string trouble;
  ASSERT_TRUE(kit.memory.Put(paths::Report("job1", 1, 2), "garbage").ok());
  EXPECT_EQ(reader.Read("job1", &trouble)->size(), 3u);
  EXPECT_NE(trouble.find("1-2.json"), std::string::npos);
  ASSERT_TRUE(kit.memory.Delete(paths::Report("job1", 1, 2)).ok());
  EXPECT_EQ(reader.Read("job1")->size(), 3u);
  EXPECT_TRUE(reader.Read("job2")->empty());
}

}  // namespace
}  // namespace stoker
