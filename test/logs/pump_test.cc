// SPDX-License-Identifier: Apache-2.0
// Spool, shipper and thread together, on a real disk and clock.
#include "agent/log_pump.h"

#include <thread>

#include "sys/real_clock.h"
#include "sys/spool_file.h"
#include "test/logs/log_fixture.h"

namespace stoker {
namespace {

std::unique_ptr<SpoolFolder> Folder(const std::string& path) {
  Result<std::unique_ptr<SpoolFolder>> folder = OpenSpoolFolder(path);
  EXPECT_TRUE(folder.ok()) << folder.status().ToString();
  return std::move(folder).value();
}

TEST(Pump, TheFirstLineIsInTheStoreWithinMilliseconds) {
  RealClock clock;
  TempFolder folder;
  MemoryStore store;
  Result<std::unique_ptr<LogPump>> pump =
      LogPump::Start(store, clock, Folder(folder.path()), {kJob, 1, 0});
  ASSERT_TRUE(pump.ok()) << pump.status().ToString();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const MonoTime before = clock.Mono();
  (*pump)->sink().Write(LogStream::kOut, "hello\n");
  while (ReadAll(store).empty() && clock.Mono() - before < Duration::Seconds(10)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  const Duration took = clock.Mono() - before;
  printf("first line in the store after %lld ms\n", static_cast<long long>(took.ms));
  EXPECT_LT(took, Duration::Seconds(5));
  EXPECT_EQ(StreamBytes(store, LogStream::kOut), "hello\n");
}

TEST(Pump, TwoStreamsAtOnceAndNothingIsLost) {
  RealClock clock;
  TempFolder folder;
  MemoryStore memory;
  FaultyStore store(memory, 9, Faults(100, 100));
  std::string out;
  std::string err;
  for (int i = 0; i < 100'000; ++i) {
    out += "out " + std::to_string(i) + "\n";
    err += "err " + std::to_string(i) + "\n";
  }
  out += "no newline at the end";
  {
    Result<std::unique_ptr<LogPump>> pump = Status(Code::kUnavailable, "not tried");
    for (int i = 0; i < 100 && !pump.ok(); ++i) {
      pump = LogPump::Start(store, clock, Folder(folder.path()), {kJob, 1, 0});
    }
    ASSERT_TRUE(pump.ok());
    auto write = [&](LogStream stream, const std::string& text) {
      for (size_t at = 0; at < text.size(); at += 10'007) {
        (*pump)->sink().Write(stream, std::string_view(text).substr(at, 10'007));
      }
    };
    std::thread other([&] { write(LogStream::kErr, err); });
    write(LogStream::kOut, out);
    other.join();
    const Status shipped = (*pump)->ShipAll(Duration::Seconds(60));
    ASSERT_TRUE(shipped.ok()) << shipped.ToString();
  }
  EXPECT_EQ(StreamBytes(memory, LogStream::kOut), out);
  EXPECT_EQ(StreamBytes(memory, LogStream::kErr), err);
}

TEST(Pump, ShipAllKeepsItsDeadlineAndTheNextAgentGoesOn) {
  RealClock clock;
  TempFolder folder;
  MemoryStore memory;
  FaultyStore store(memory, 1, {});
  {
    Result<std::unique_ptr<LogPump>> pump =
        LogPump::Start(store, clock, Folder(folder.path()), {kJob, 1, 0});
    ASSERT_TRUE(pump.ok());
    store.SetPlan(Faults(1000));
    (*pump)->sink().Write(LogStream::kOut, "one\ntwo");
    const MonoTime before = clock.Mono();
    const Status shipped = (*pump)->ShipAll(Duration::Ms(300));
    EXPECT_EQ(shipped.code(), Code::kTimeout);
    EXPECT_EQ(shipped.message().rfind("2 log lines are not in the store: ", 0), 0u)
        << shipped.message();
    EXPECT_LT(clock.Mono() - before, Duration::Seconds(5));
    EXPECT_NE((*pump)->trouble(), "");
  }
  EXPECT_FALSE(LogPump::Start(store, clock, Folder(folder.path() + "/new"), {kJob, 1, 1}).ok());
  // The store is still away: what the disk remembers is enough to go on.
  Result<std::unique_ptr<LogPump>> pump =
      LogPump::Start(store, clock, Folder(folder.path()), {kJob, 1, 0});
  ASSERT_TRUE(pump.ok()) << pump.status().ToString();
  (*pump)->sink().Write(LogStream::kOut, " and three\n");
  store.SetPlan({});
  ASSERT_TRUE((*pump)->ShipAll(Duration::Seconds(30)).ok());
  EXPECT_EQ(StreamBytes(memory, LogStream::kOut), "one\ntwo and three\n");
  ASSERT_TRUE((*pump)->sink().Remove().ok());
}

TEST(Pump, AFloodIsKeptInLittleMemory) {
  RealClock clock;
  TempFolder folder;
  MemoryStore store;
  Result<std::unique_ptr<LogPump>> pump =
      LogPump::Start(store, clock, Folder(folder.path()), {kJob, 1, 0});
  ASSERT_TRUE(pump.ok());
  std::string chunk;
  int64_t lines = 0;
  while (chunk.size() < 60'000) {
    chunk += "step " + std::to_string(lines++) + " loss 0.12345 accuracy 0.98765\n";
  }
  const MonoTime before = clock.Mono();
  const int kChunks = Rounds(800);
  for (int i = 0; i < kChunks; ++i) (*pump)->sink().Write(LogStream::kOut, chunk);
  const Duration written = clock.Mono() - before;
  ASSERT_TRUE((*pump)->ShipAll(Duration::Seconds(60)).ok());
  const Duration shipped = clock.Mono() - before;
  printf(
      "%lld lines: taken at %.0f thousand lines/s, all in the store at %.0f thousand/s\n",
      static_cast<long long>(lines * kChunks),
      static_cast<double>(lines * kChunks) / static_cast<double>(std::max<int64_t>(written.ms, 1)),
      static_cast<double>(lines * kChunks) / static_cast<double>(std::max<int64_t>(shipped.ms, 1)));
  EXPECT_EQ((*pump)->spool().counters().lost_lines, 0);
  EXPECT_EQ((*pump)->spool().counters().lines, lines * kChunks);
  EXPECT_EQ(static_cast<int64_t>(ReadAll(store).size()), lines * kChunks);
}

}  // namespace
}  // namespace stoker
