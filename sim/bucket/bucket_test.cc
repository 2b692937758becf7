// SPDX-License-Identifier: Apache-2.0
#include "sim/bucket/bucket.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "test/contract/object_store_suite.h"

namespace stoker::sim {
namespace {

struct BucketWorld {
  explicit BucketWorld(uint64_t seed = 1) : prng(seed) {}
  BucketClient Client(const std::string& name, Link* link = nullptr) {
    return BucketClient(bucket, scheduler, prng, name, link);
  }
  // Runs `body` as a process until nothing is left to happen.
  void Run(const std::function<void()>& body) {
    Process process(scheduler, "p");
    process.Spawn(body);
    while (scheduler.RunOne()) {
    }
    EXPECT_TRUE(process.idle());
  }
  std::string At(const std::string& key) const {
    const Bucket::Entry* const entry = bucket.Find(key);
    return entry == nullptr ? "(none)" : *entry->data;
  }

  Scheduler scheduler;
  Prng prng;
  Bucket bucket{scheduler, prng};
};

class SimSubject : public contract::Subject {
 public:
  ObjectStore& store() override { return client_; }
  std::unique_ptr<ObjectStore> Reopen() override { return nullptr; }
  BucketWorld& world() { return world_; }

 private:
  BucketWorld world_;
  BucketClient client_ = world_.Client("subject");
};

class BucketContract : public ::testing::TestWithParam<contract::Check> {};

TEST_P(BucketContract, Holds) {
  SimSubject subject;
  contract::Findings findings;
  bool done = false;
  subject.world().Run([&] {
    GetParam().run(subject, findings);
    done = true;
  });
  EXPECT_TRUE(done);
  for (const std::string& finding : findings.all()) ADD_FAILURE() << finding;
}

// What the world of fibers cannot run, by name; everything else of the suite must.
const std::set<std::string>& LeftOut() {
  static const std::set<std::string> names = {
      // Threads; FibersIncrement stands in.
      "ThreadsIncrement", "ThreadsCreateOnce", "ReadersSeeWholes", "ValuesNeverGoBack",
      "ListsWhileWriting", "MixedWritersLoseNothing",
      // Processes.
      "ProcessesIncrement", "ProcessesCreateOnce", "KilledWriters"};
  return names;
}

std::vector<contract::Check> ContractChecks() {
  std::vector<contract::Check> checks;
  for (const contract::Check& check : contract::AllChecks()) {
    if (LeftOut().count(check.name) == 0) checks.push_back(check);
  }
  return checks;
}

INSTANTIATE_TEST_SUITE_P(All, BucketContract, ::testing::ValuesIn(ContractChecks()),
                         [](const ::testing::TestParamInfo<contract::Check>& one) {
                           return one.param.name;
                         });

TEST(Bucket, ChecksLeftOutOfTheContractExist) {
  std::set<std::string> names;
  for (const contract::Check& check : contract::AllChecks()) names.insert(check.name);
  for (const std::string& name : LeftOut()) {
    std::printf("left out of the contract (threads or processes): %s\n", name.c_str());
    EXPECT_EQ(names.count(name), 1U) << name;
  }
  EXPECT_EQ(ContractChecks().size() + LeftOut().size(), contract::AllChecks().size());
}

TEST(Bucket, UploadsShowNothingBeforeCommit) {
  BucketWorld world;
  BucketClient client = world.Client("p");
  world.Run([&] {
    auto upload = client.BeginUpload("u/x", Condition::Absent());
    ASSERT_TRUE(upload.ok());
    EXPECT_TRUE((*upload)->Write("head ").ok());
    EXPECT_TRUE((*upload)->Write("tail").ok());
    EXPECT_EQ(world.At("u/x"), "(none)");
    EXPECT_TRUE((*upload)->Commit().ok());
    EXPECT_FALSE((*upload)->Commit().ok());
    auto abandoned = client.BeginUpload("u/y");
    EXPECT_TRUE((*abandoned)->Write("x").ok());
  });
  EXPECT_EQ(world.At("u/x"), "head tail");
  EXPECT_EQ(world.At("u/y"), "(none)");
}

TEST(Bucket, FibersIncrement) {
  BucketWorld world;
  std::vector<std::unique_ptr<Process>> processes;
  std::vector<std::unique_ptr<BucketClient>> clients;
  int lost = 0;
  world.bucket.Plant("n", std::make_shared<const std::string>("0"));
  for (int i = 0; i < 8; ++i) {
    processes.push_back(std::make_unique<Process>(world.scheduler, "p" + std::to_string(i)));
    clients.push_back(std::make_unique<BucketClient>(world.bucket, world.scheduler, world.prng,
                                                     processes.back()->name(), nullptr));
    processes.back()->Spawn([&, client = clients.back().get()] {
      for (int won = 0; won < 25;) {
        const auto object = client->Get("n");
        ASSERT_TRUE(object.ok());
        const auto put = client->Put("n", std::to_string(std::stoi(object->data) + 1),
                                     Condition::Match(object->info.version));
        if (put.ok()) {
          ++won;
        } else {
          EXPECT_EQ(put.code(), Code::kConflict);
          ++lost;
        }
      }
    });
  }
  while (world.scheduler.RunOne()) {
  }
  EXPECT_EQ(world.At("n"), "200");
  EXPECT_GT(lost, 100);
}

TEST(Bucket, RequestsTakeTheirTime) {
  BucketWorld world;
  world.bucket.latency_low = world.bucket.latency_high = 20;
  world.bucket.bytes_per_ms = 1000;
  BucketClient client = world.Client("p");
  std::vector<int64_t> times;
  int64_t effect = -1;
  world.bucket.changed = [&](const BucketChange&) { effect = world.scheduler.now(); };
  world.Run([&] {
    ASSERT_TRUE(client.Put("k", std::string(5000, 'x')).ok());
    times.push_back(world.scheduler.now());
    ASSERT_TRUE(client.Get("k").ok());
    times.push_back(world.scheduler.now());
    ASSERT_TRUE(client.Head("k").ok());
    times.push_back(world.scheduler.now());
    auto upload = client.BeginUpload("u");
    for (int i = 0; i < 100; ++i) ASSERT_TRUE((*upload)->Write(std::string(100, 'x')).ok());
    ASSERT_TRUE((*upload)->Commit().ok());
    times.push_back(world.scheduler.now());
  });
  EXPECT_EQ(times, (std::vector<int64_t>{25, 50, 70, 100}));
  EXPECT_EQ(effect, 90);
  EXPECT_EQ(client.counts().puts, 2);
  EXPECT_EQ(client.counts().gets, 1);
  EXPECT_EQ(client.counts().heads, 1);
  EXPECT_EQ(client.counts().bytes_up, 15'000);
  EXPECT_EQ(client.counts().bytes_down, 5000);
  EXPECT_EQ(world.bucket.counts().all(), 4);
}

TEST(Bucket, OutsideOfFibersNothingTakesTimeOrFails) {
  BucketWorld world;
  world.bucket.faults.before = 1000;
  world.bucket.away_until = 1'000'000;
  BucketClient client = world.Client("p");
  const auto version = client.Put("k", "1");
  ASSERT_TRUE(version.ok());
  EXPECT_TRUE(client.Put("k", "2", Condition::Match(*version)).ok());
  EXPECT_EQ(client.Get("k")->data, "2");
  EXPECT_EQ(world.scheduler.next(), -1);
}

struct DuelOutcome {
  Code code = Code::kOk;
  bool effect = false;
};

// One write under one fault that is certain.
DuelOutcome WriteUnder(int BucketFaults::*fault, uint64_t seed) {
  BucketWorld world(seed);
  world.bucket.faults.*fault = 1000;
  BucketClient client = world.Client("p");
  DuelOutcome out;
  world.Run([&] {
    out.code = client.Put("k", "x").code();
    out.effect = world.bucket.Find("k") != nullptr;
  });
  return out;
}

TEST(Bucket, EachFaultSaysAndDoesWhatItShould) {
  int torn_took_effect = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const DuelOutcome before = WriteUnder(&BucketFaults::before, seed);
    EXPECT_EQ(before.code, Code::kUnavailable);
    EXPECT_FALSE(before.effect);
    const DuelOutcome after = WriteUnder(&BucketFaults::after, seed);
    EXPECT_EQ(after.code, Code::kTimeout);
    EXPECT_TRUE(after.effect);
    const DuelOutcome throttled = WriteUnder(&BucketFaults::throttled, seed);
    EXPECT_EQ(throttled.code, Code::kBusy);
    EXPECT_FALSE(throttled.effect);
    const DuelOutcome slow = WriteUnder(&BucketFaults::slow, seed);
    EXPECT_EQ(slow.code, Code::kOk);
    EXPECT_TRUE(slow.effect);
    const DuelOutcome torn = WriteUnder(&BucketFaults::torn, seed);
    EXPECT_EQ(torn.code, Code::kUnavailable);
    torn_took_effect += torn.effect ? 1 : 0;
    const DuelOutcome late = WriteUnder(&BucketFaults::late, seed);
    EXPECT_EQ(late.code, Code::kTimeout);
    EXPECT_FALSE(late.effect);
  }
  EXPECT_GT(torn_took_effect, 20);
  EXPECT_LT(torn_took_effect, 100);
}

TEST(Bucket, LateWritesCheckTheirConditionWhenTheyArrive) {
  int refused = 0;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    BucketWorld world(seed);
    BucketClient client = world.Client("p");
    const auto first = client.Put("k", "first");
    int64_t said = -1;
    int64_t landed = -1;
    world.bucket.changed = [&](const BucketChange& change) {
      if (*change.after != "late") return;
      landed = world.scheduler.now();
      EXPECT_EQ(change.writer, "p");
    };
    world.Run([&] {
      world.bucket.faults.late = 1000;
      EXPECT_EQ(client.Put("k", "late", Condition::Match(*first)).code(), Code::kTimeout);
      said = world.scheduler.now();
      world.bucket.faults.late = 0;
      EXPECT_EQ(client.Get("k")->data, "first");
      world.scheduler.Sleep(5000);
      (void)client.Put("k", "second", Condition::Match(*first));
    });
    if (landed < 0) {
      ++refused;
      EXPECT_EQ(world.At("k"), "second");
    } else {
      EXPECT_EQ(world.At("k"), "late");
      EXPECT_GT(landed, said);
      EXPECT_LE(landed, said + world.bucket.faults.late_ms);
    }
  }
  EXPECT_GT(refused, 5);
  EXPECT_LT(refused, 45);
}

// Kills the writer at `at`; the effect is due at 10, the answer at 20.
std::string KilledAt(int64_t at, bool delete_it) {
  BucketWorld world;
  world.bucket.latency_low = world.bucket.latency_high = 20;
  BucketClient client = world.Client("p");
  (void)client.Put("k", "before");
  Process process(world.scheduler, "p");
  bool answered = false;
  process.Spawn([&] {
    if (delete_it) {
      (void)client.Delete("k");
    } else {
      (void)client.Put("k", "after");
    }
    answered = true;
  });
  world.scheduler.At(at, [&] { process.Kill(); });
  while (world.scheduler.RunOne()) {
  }
  return world.At("k") + (answered ? " answered" : "");
}

TEST(Bucket, AProcessKilledBeforeHasNoEffectAndAfterHasIt) {
  EXPECT_EQ(KilledAt(9, false), "before");
  EXPECT_EQ(KilledAt(11, false), "after");
  EXPECT_EQ(KilledAt(21, false), "after answered");
  EXPECT_EQ(KilledAt(9, true), "before");
  EXPECT_EQ(KilledAt(11, true), "(none)");
}

TEST(Bucket, WhatUnwindsCannotWrite) {
  BucketWorld world;
  BucketClient client = world.Client("p");
  std::optional<Code> said;
  Code read = Code::kOk;
  struct Writes {
    BucketClient& client;
    std::optional<Code>& said;
    Code& read;
    std::unique_ptr<Upload> upload;
    ~Writes() {
      said = client.Put("k", "dead").code();
      read = client.Get("k").code();
      EXPECT_FALSE(upload->Write("x").ok());
      EXPECT_FALSE(upload->Commit().ok());
    }
  };
  Process process(world.scheduler, "p");
  process.Spawn([&] {
    const Writes writes{client, said, read, *client.BeginUpload("u")};
    world.scheduler.Sleep(1000);
  });
  world.scheduler.At(500, [&] { process.Kill(); });
  while (world.scheduler.RunOne()) {
  }
  EXPECT_EQ(said, Code::kUnavailable);
  EXPECT_EQ(read, Code::kUnavailable);
  EXPECT_TRUE(world.bucket.objects().empty());
  EXPECT_EQ(world.scheduler.now(), 1000);  // the alarm of the sleep, which does nothing
  EXPECT_EQ(world.bucket.counts().all(), 0);
}

TEST(Bucket, AWatcherMayKillTheWriterRightAfterItsWrite) {
  BucketWorld world;
  BucketClient client = world.Client("p");
  Process process(world.scheduler, "p");
  world.bucket.changed = [&](const BucketChange& change) {
    if (change.key == "first") process.Kill();
  };
  process.Spawn([&] {
    (void)client.Put("first", "1");
    (void)client.Put("second", "2");
  });
  while (world.scheduler.RunOne()) {
  }
  EXPECT_EQ(world.At("first"), "1");
  EXPECT_EQ(world.At("second"), "(none)");
}

TEST(Bucket, TellsWhatChanged) {
  BucketWorld world;
  std::string story;
  world.bucket.changed = [&](const BucketChange& change) {
    story += change.writer + " " + change.key + " " + (change.before ? *change.before : "-") + ">" +
             (change.after ? *change.after : "-") + "; ";
  };
  BucketClient client = world.Client("p");
  world.Run([&] {
    (void)client.Put("k", "1");
    (void)client.Put("k", "2", Condition::Absent());
    (void)client.Put("k", "3");
    (void)client.Delete("k");
    (void)client.Delete("k");
  });
  world.bucket.Plant("k", std::make_shared<const std::string>("4"));
  world.bucket.Plant("k", nullptr);
  EXPECT_EQ(story, "p k ->1; p k 1>3; p k 3>-;  k ->4;  k 4>-; ");
}

TEST(Bucket, ALinkThatIsCutLosesTheWayThereOrTheWayBack) {
  const auto put = [](int64_t cut_at) {
    BucketWorld world;
    world.bucket.latency_low = world.bucket.latency_high = 20;
    Link link;
    BucketClient client = world.Client("p", &link);
    BucketClient other = world.Client("q");
    Code code = Code::kOk;
    world.scheduler.At(cut_at, [&] { link.cut_until = 60'000; });
    world.Run([&] {
      world.scheduler.Sleep(100);
      code = client.Put("k", "x").code();
      EXPECT_TRUE(other.Put("other", "x").ok());
      while (!client.Put("again", "x").ok()) world.scheduler.Sleep(100);
      EXPECT_GE(world.scheduler.now(), 60'000);
    });
    return std::pair(code, world.bucket.Find("k") != nullptr);
  };
  EXPECT_FALSE(put(50).second);
  EXPECT_EQ(put(105), std::pair(Code::kTimeout, false));
  EXPECT_EQ(put(115), std::pair(Code::kTimeout, true));
}

TEST(Bucket, ABucketThatIsAwayAnswersNobody) {
  BucketWorld world;
  world.bucket.away_until = 600'000;
  BucketClient client = world.Client("p");
  std::set<Code> codes;
  world.Run([&] {
    while (world.scheduler.now() < 590'000) codes.insert(client.Put("k", "x").code());
    EXPECT_EQ(world.At("k"), "(none)");
    world.scheduler.Sleep(20'000);
    EXPECT_TRUE(client.Put("k", "x").ok());
  });
  EXPECT_EQ(codes, (std::set<Code>{Code::kUnavailable, Code::kTimeout}));
}

TEST(Bucket, TornDownloadsNeverLookWhole) {
  int partly = 0;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    BucketWorld world(seed);
    BucketClient client = world.Client("p");
    const std::string data(100'000, 'x');
    world.bucket.Plant("k", std::make_shared<const std::string>(data));
    world.bucket.faults.torn = 1000;
    world.Run([&] {
      EXPECT_EQ(client.Get("k").code(), Code::kUnavailable);
      auto download = client.OpenDownload("k");
      ASSERT_TRUE(download.ok());
      std::vector<char> buffer(10'000);
      int64_t got = 0;
      for (;;) {
        const auto count = (*download)->Read(buffer.data(), static_cast<int64_t>(buffer.size()));
        if (!count.ok()) {
          EXPECT_EQ(count.code(), Code::kUnavailable);
          break;
        }
        ASSERT_GT(*count, 0);
        got += *count;
      }
      partly += got > 0 ? 1 : 0;
      auto upload = client.BeginUpload("u");
      EXPECT_EQ((*upload)->Write("x").code(), Code::kUnavailable);
      EXPECT_EQ((*upload)->Commit().code(), Code::kUnavailable);
    });
    EXPECT_EQ(world.At("u"), "(none)");
  }
  EXPECT_GT(partly, 30);
}

TEST(Bucket, EqualDataIsANewVersion) {
  BucketWorld world;
  BucketClient client = world.Client("p");
  const auto first = client.Put("k", "same");
  const auto second = client.Put("k", "same");
  EXPECT_NE(*first, *second);
  EXPECT_EQ(client.Put("k", "x", Condition::Match(*first)).code(), Code::kConflict);
}

TEST(Bucket, TheSameSeedGivesTheSameStory) {
  const auto story = [](uint64_t seed) {
    BucketWorld world(seed);
    world.bucket.faults = {50, 50, 50, 50, 50, 50};
    std::string out;
    BucketClient client = world.Client("p");
    world.Run([&] {
      for (int i = 0; i < 300; ++i) {
        const Code code = client.Put("k/" + std::to_string(i % 7), std::to_string(i)).code();
        out += std::string(CodeName(code)) + "@" + std::to_string(world.scheduler.now()) + " ";
        out += CodeName(client.Get("k/1").code());
      }
    });
    for (const auto& [key, entry] : world.bucket.objects()) {
      out += key + "=" + *entry.data + "v" + entry.info.version + " ";
    }
    return out;
  };
  EXPECT_EQ(story(7), story(7));
  EXPECT_NE(story(7), story(8));
}

}  // namespace
}  // namespace stoker::sim
