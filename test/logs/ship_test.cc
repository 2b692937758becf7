// SPDX-License-Identifier: Apache-2.0
// From the spool to the store: each line once, in order, whatever fails or dies; and merging.
#include <set>

#include "ledger/paths.h"
#include "test/kit/counted.h"
#include "test/logs/log_fixture.h"

namespace stoker {
namespace {

// What the flush intervals of a bucket are like.
class SlowTraits : public ForwardingStore {
 public:
  explicit SlowTraits(ObjectStore& inner) : ForwardingStore(inner) {
    traits_.requests_are_free = false;
  }
  const StoreTraits& traits() const override { return traits_; }

 private:
  StoreTraits traits_;
};

void ExpectNoOverlap(ObjectStore& store) {
  Result<LogMap> map = ListLogSegments(store, kJob);
  ASSERT_TRUE(map.ok());
  for (const auto& [id, set] : *map) {
    int64_t next = 1;
    for (const LogSegment& segment : set.segments()) {
      EXPECT_EQ(segment.first, next);
      next = segment.end();
    }
  }
}

TEST(Ship, FaultsAndDeathsNeverLoseOrRepeatALine) {
  for (uint64_t seed = 1; seed <= Rounds(40); ++seed) {
    Prng prng(seed);
    ManualClock clock;
    SpoolDisk disk;
    MemoryStore store;
    FaultyStore faulty(store, seed, Faults(150, 150, 100));
    LogSpoolOptions options;
    options.rotate_bytes = prng.Between(1, 20'000);
    std::unique_ptr<LogSpool> spool;
    std::unique_ptr<LogShipper> shipper;
    std::string expected;
    for (int i = 0; i < 800; ++i) {
      if (!spool || prng.Chance(1, 60)) {  // the agent dies and comes back
        shipper.reset();
        spool = OpenSpool(disk, clock, options);
        shipper = std::make_unique<LogShipper>(faulty, clock, *spool, LogPlace{kJob, 1, 0});
      }
      const std::string line = std::to_string(i) + std::string(prng.Below(200), '.') + "\n";
      spool->Write(LogStream::kOut, line);
      expected += line;
      clock.Advance(Duration::Ms(prng.Between(0, 500)));
      if (prng.Chance(2, 3)) shipper->Step();
    }
    ASSERT_TRUE(ShipEverything(*spool, *shipper, clock)) << shipper->trouble();
    EXPECT_GT(faulty.injected(), 20);
    ASSERT_EQ(StreamBytes(store, LogStream::kOut), expected) << "seed " << seed;
    // The spool is freed, but for the file in use.
    EXPECT_LE(disk.files.size(), 1u);
  }
}

TEST(Ship, DeathBetweenPutAndTrimSendsNothingTwice) {
  ManualClock clock;
  SpoolDisk disk;
  disk.keep_removed = true;
  MemoryStore store;
  LogSpoolOptions options;
  options.rotate_bytes = 50;
  std::string expected;
  for (int life = 0; life < 5; ++life) {
    std::unique_ptr<LogSpool> spool = OpenSpool(disk, clock, options);
    LogShipper shipper(store, clock, *spool, {kJob, 1, 0});
    for (int i = 0; i < 20; ++i) {
      const std::string line = std::to_string(life) + "-" + std::to_string(i) + "\n";
      spool->Write(LogStream::kOut, line);
      expected += line;
    }
    ASSERT_TRUE(ShipEverything(*spool, shipper, clock));
  }
  ExpectNoOverlap(store);
  EXPECT_EQ(StreamBytes(store, LogStream::kOut), expected);
}

TEST(Ship, ADiskThatForgotIsNumberedBehindTheStore) {
  ManualClock clock;
  MemoryStore store;
  PutSegment(store, 1, 0, 1, 10);
  SpoolDisk disk;
  disk.files["000000000001.log"] = "1000 o line 1\n1000 o line 2\n";
  std::unique_ptr<LogSpool> spool = OpenSpool(disk, clock);
  LogShipper shipper(store, clock, *spool, {kJob, 1, 0});
  shipper.Step();
  spool->Write(LogStream::kOut, "line 11\n");
  ASSERT_TRUE(ShipEverything(*spool, shipper, clock));
  ExpectNoOverlap(store);
  const std::vector<LogRecord> records = ReadAll(store);
  ASSERT_EQ(records.size(), 11u);
  EXPECT_EQ(records.back().text, "line 11");
  EXPECT_EQ(records.back().line, 11);
}

TEST(Ship, WhatIsSaidBeforeTheProgramGoesWithItsFirstLine) {
  ManualClock clock;
  SpoolDisk disk;
  MemoryStore store([&] { return clock.Wall(); });
  std::unique_ptr<LogSpool> spool = OpenSpool(disk, clock);
  LogShipper shipper(store, clock, *spool, {kJob, 1, 0});
  shipper.AwaitProgram();
  spool->Write(LogStream::kOut, "before it\n");
  const std::optional<MonoTime> next = shipper.Step();
  EXPECT_EQ(CountObjects(store), 0u);
  EXPECT_EQ(next, clock.Mono() + kFirstWait);
  shipper.SetBegun();
  shipper.Step();
  EXPECT_EQ(CountObjects(store), 0u);
  spool->Write(LogStream::kOut, "first\n");
  shipper.Step();
  EXPECT_EQ(CountObjects(store), 1u);
}

TEST(Ship, TheFirstLineGoesAtOnceAndTheRestTogether) {
  ManualClock clock;
  SpoolDisk disk;
  MemoryStore memory([&] { return clock.Wall(); });
  SlowTraits store(memory);
  std::unique_ptr<LogSpool> spool = OpenSpool(disk, clock);
  LogShipper shipper(store, clock, *spool, {kJob, 1, 0});
  spool->Write(LogStream::kOut, "first\n");
  shipper.Step();
  EXPECT_EQ(CountObjects(memory), 1u);
  for (int second = 1; second < 30; ++second) {
    clock.Advance(Duration::Seconds(1));
    spool->Write(LogStream::kOut, "more\n");
    std::optional<MonoTime> next = shipper.Step();
    ASSERT_TRUE(next.has_value());
    ASSERT_EQ(CountObjects(memory), 1u) << second;
  }
  clock.Advance(Duration::Seconds(1));
  shipper.Step();
  EXPECT_EQ(CountObjects(memory), 2u);
  EXPECT_EQ(shipper.Step(), std::nullopt);  // nothing waits: sleep until woken
  // Somebody follows: a second is enough.
  clock.Advance(Duration::Seconds(20));
  ASSERT_TRUE(memory.Put(paths::Follow(kJob), "x").ok());
  spool->Write(LogStream::kOut, "a\n");
  shipper.Step();
  clock.Advance(Duration::Seconds(6));
  spool->Write(LogStream::kOut, "b\n");
  shipper.Step();
  EXPECT_EQ(CountObjects(memory), 5u);
  clock.Advance(Duration::Ms(500));
  spool->Write(LogStream::kOut, "c\n");
  EXPECT_EQ(shipper.Step(), clock.Mono() + Duration::Ms(500));
  EXPECT_EQ(CountObjects(memory), 5u);
}

TEST(Ship, AMachineThatIsToGoKeepsNoLineForLongerThanASecond) {
  ManualClock clock;
  SpoolDisk disk;
  MemoryStore memory;
  SlowTraits store(memory);
  std::unique_ptr<LogSpool> spool = OpenSpool(disk, clock);
  LogShipper shipper(store, clock, *spool, {kJob, 1, 0});
  spool->Write(LogStream::kOut, "first\n");
  shipper.Step();
  spool->Write(LogStream::kOut, "waits\n");
  shipper.Step();
  EXPECT_EQ(ReadAll(memory).size(), 1u);
  shipper.SetLeaving(true);
  EXPECT_EQ(shipper.Step(), clock.Mono() + Duration::Seconds(1));
  for (size_t second = 1; second <= 20; ++second) {
    clock.Advance(Duration::Seconds(1));
    shipper.Step();
    EXPECT_EQ(ReadAll(memory).size(), 1 + second);
    spool->Write(LogStream::kOut, "more\n");
  }
  shipper.SetLeaving(false);  // the notice is withdrawn
  clock.Advance(Duration::Seconds(2));
  shipper.Step();
  EXPECT_EQ(ReadAll(memory).size(), 21u);
}

TEST(Ship, AProgramsFirstLineWaitsForNoLineOfStokers) {
  ManualClock clock;
  SpoolDisk disk;
  MemoryStore memory;
  SlowTraits store(memory);
  std::unique_ptr<LogSpool> spool = OpenSpool(disk, clock);
  LogShipper shipper(store, clock, *spool, {kJob, 1, 0});
  spool->Say("stoker: from your shell: PATH");
  shipper.Step();
  spool->Say("stoker: one more");
  shipper.SetBegun();
  shipper.Step();
  EXPECT_EQ(ReadAll(memory).size(), 1u);  // that is no line of the program
  spool->Write(LogStream::kOut, "hello\n");
  shipper.Step();
  EXPECT_EQ(ReadAll(memory).size(), 3u);
  spool->Write(LogStream::kOut, "the second waits for others\n");
  shipper.Step();
  EXPECT_EQ(ReadAll(memory).size(), 3u);
}

TEST(Ship, AMegabyteDoesNotWait) {
  ManualClock clock;
  SpoolDisk disk;
  MemoryStore memory;
  SlowTraits store(memory);
  std::unique_ptr<LogSpool> spool = OpenSpool(disk, clock);
  LogShipper shipper(store, clock, *spool, {kJob, 1, 0});
  spool->Write(LogStream::kOut, "first\n");
  shipper.Step();
  spool->Write(LogStream::kOut, std::string(3 << 20, 'x') + "\n");
  shipper.Step();
  EXPECT_GE(CountObjects(memory), 3u);
}

TEST(Ship, IdleCostsNoRequests) {
  ManualClock clock;
  SpoolDisk disk;
  MemoryStore memory;
  SlowTraits slow(memory);
  CountedStore store(slow);
  std::unique_ptr<LogSpool> spool = OpenSpool(disk, clock);
  LogShipper shipper(store, clock, *spool, {kJob, 1, 0});
  shipper.Step();
  store.Reset();
  for (int i = 0; i < 1000; ++i) {
    clock.Advance(Duration::Seconds(10));
    shipper.Step();
  }
  EXPECT_EQ(store.counts().all(), 0);
}

TEST(Ship, AStoreThatIsAwayIsLeftAloneMoreAndMore) {
  ManualClock clock;
  SpoolDisk disk;
  MemoryStore memory;
  FaultyStore faulty(memory, 1, Faults(1000));
  CountedStore store(faulty);
  std::unique_ptr<LogSpool> spool = OpenSpool(disk, clock);
  LogShipper shipper(store, clock, *spool, {kJob, 1, 0});
  spool->Write(LogStream::kOut, "kept\n");
  for (int i = 0; i < 6000; ++i) {  // ten minutes
    shipper.Step();
    clock.Advance(Duration::Ms(100));
  }
  EXPECT_LT(store.counts().all(), 150);
  EXPECT_NE(shipper.trouble().find("not sent"), std::string::npos) << shipper.trouble();
  EXPECT_FALSE(shipper.AllShipped());
  faulty.SetPlan({});
  ASSERT_TRUE(ShipEverything(*spool, shipper, clock));
  EXPECT_EQ(shipper.trouble(), "");
  EXPECT_EQ(StreamBytes(memory, LogStream::kOut), "kept\n");
}

TEST(Ship, AWeekIsHundredsOfObjects) {
  ManualClock clock;
  SpoolDisk disk;
  MemoryStore memory;
  SlowTraits store(memory);
  std::unique_ptr<LogSpool> spool = OpenSpool(disk, clock);
  LogShipper shipper(store, clock, *spool, {kJob, 1, 0});
  Prng prng(3);
  std::string expected;
  for (int i = 0; i < 7 * 24 * 120; ++i) {  // every 30 s
    std::string lines;
    for (int64_t k = prng.Between(1, 4); k > 0; --k) {
      lines += "step " + std::to_string(i) + " loss " + std::to_string(prng.Next()) + "\n";
    }
    spool->Write(LogStream::kOut, lines);
    expected += lines;
    clock.Advance(Duration::Seconds(31));
    shipper.Step();
  }
  EXPECT_EQ(shipper.trouble(), "");
  EXPECT_LT(CountObjects(memory), 300u);
  ExpectNoOverlap(memory);
  ASSERT_TRUE(ShipEverything(*spool, shipper, clock));
  EXPECT_EQ(StreamBytes(memory, LogStream::kOut), expected);
}

TEST(Ship, AMergeThatDiedHalfwayIsReadRightAndFinishedByTheNext) {
  ManualClock clock;
  SpoolDisk disk;
  MemoryStore memory;
  FaultyStore store(memory, 1, Faults(1000, 0, 0, StoreCall::kDelete));
  std::unique_ptr<LogSpool> spool = OpenSpool(disk, clock);
  {
    LogShipper shipper(store, clock, *spool, {kJob, 1, 0});
    for (int i = 0; i < 40; ++i) {
      spool->Write(LogStream::kOut, std::to_string(i) + "\n");
      clock.Advance(Duration::Seconds(1));
      shipper.Step();
    }
  }
  Result<LogMap> map = ListLogSegments(memory, kJob);
  ASSERT_TRUE(map.ok());
  const size_t covered = map->at({1, 0}).Covered().size();
  EXPECT_GE(covered, 16u);
  std::vector<LogRecord> records = ReadAll(memory);
  ASSERT_EQ(records.size(), 40u);  // each once, though most are there twice
  for (int i = 0; i < 40; ++i) EXPECT_EQ(records[static_cast<size_t>(i)].text, std::to_string(i));

  LogShipper next(memory, clock, *spool, {kJob, 1, 0});
  next.Step();
  ExpectNoOverlap(memory);
  EXPECT_EQ(ReadAll(memory).size(), 40u);
}

TEST(Ship, ADamagedLargeSegmentIsNoReasonToDeleteItsParts) {
  ManualClock clock;
  SpoolDisk disk;
  MemoryStore store;
  for (int64_t line = 1; line <= 5; ++line) PutSegment(store, 1, 0, line, 1);
  ASSERT_TRUE(store.Put(SegmentKey(kJob, 1, 0, 1, 5), "not zstd at all").ok());
  std::unique_ptr<LogSpool> spool = OpenSpool(disk, clock);
  LogShipper shipper(store, clock, *spool, {kJob, 1, 0});
  shipper.Step();
  EXPECT_EQ(CountObjects(store), 6u);
  const std::vector<LogRecord> records = ReadAll(store);
  ASSERT_EQ(records.size(), 5u);
  for (const LogRecord& record : records) EXPECT_FALSE(record.note);
}

TEST(Ship, AnotherWriterOfTheSamePlaceIsNoticed) {
  ManualClock clock;
  SpoolDisk disk;
  MemoryStore store;
  std::unique_ptr<LogSpool> spool = OpenSpool(disk, clock);
  LogShipper shipper(store, clock, *spool, {kJob, 1, 0});
  shipper.Step();
  PutSegment(store, 1, 0, 1, 1);
  spool->Write(LogStream::kOut, "mine\n");
  shipper.Step();
  EXPECT_NE(shipper.trouble().find("another agent"), std::string::npos) << shipper.trouble();
}

}  // namespace
}  // namespace stoker
