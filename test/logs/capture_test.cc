// SPDX-License-Identifier: Apache-2.0
// From raw bytes to numbered records on disk.
#include "test/logs/log_fixture.h"

namespace stoker {
namespace {

// Bytes as unpleasant programs write them.
std::string NastyBytes(Prng& prng, size_t size) {
  std::string bytes;
  while (bytes.size() < size) {
    switch (prng.Below(8)) {
      case 0:
        bytes += '\n';
        break;
      case 1:
        bytes += "\r 42%|####      |";
        break;
      case 2:
        bytes += std::string(prng.Below(5), '\0');
        break;
      case 3:
        bytes += static_cast<char>(prng.Below(256));
        break;
      case 4:
        bytes += std::string(prng.Below(3) == 0 ? prng.Below(200'000) : 3, 'x');
        break;
      case 5:
        bytes += "\xff\xfe\x1b[31m\xc3";
        break;
      case 6:
        bytes += "\n\n\r\n";
        break;
      default:
        bytes += "epoch " + std::to_string(prng.Below(1000)) + " loss 0.1\n";
        break;
    }
  }
  return bytes;
}

std::string NextChunk(std::string& rest, Prng& prng) {
  size_t size = prng.Chance(1, 3) ? prng.Below(4) + 1 : prng.Below(90'000) + 1;
  std::string chunk = rest.substr(0, size);
  rest.erase(0, chunk.size());
  return chunk;
}

TEST(Capture, AnyChunkingGivesTheExactBytesBack) {
  for (uint64_t seed = 1; seed <= Rounds(60); ++seed) {
    Prng prng(seed);
    ManualClock clock;
    SpoolDisk disk;
    MemoryStore store;
    LogSpoolOptions options;
    options.rotate_bytes = static_cast<int64_t>(prng.Below(400'000)) + 1;
    std::unique_ptr<LogSpool> spool = OpenSpool(disk, clock, options);
    LogShipper shipper(store, clock, *spool, {kJob, 1, 0});
    const std::string out = NastyBytes(prng, prng.Below(600'000));
    const std::string err = NastyBytes(prng, prng.Below(60'000));
    std::string out_rest = out;
    std::string err_rest = err;
    while (!out_rest.empty() || !err_rest.empty()) {
      if (!out_rest.empty()) spool->Write(LogStream::kOut, NextChunk(out_rest, prng));
      if (!err_rest.empty()) spool->Write(LogStream::kErr, NextChunk(err_rest, prng));
      clock.Advance(Duration::Ms(prng.Between(0, 400)));
      if (prng.Chance(1, 2)) shipper.Step();
    }
    ASSERT_TRUE(ShipEverything(*spool, shipper, clock)) << shipper.trouble();
    ASSERT_EQ(StreamBytes(store, LogStream::kOut), out) << "seed " << seed;
    ASSERT_EQ(StreamBytes(store, LogStream::kErr), err) << "seed " << seed;
    int64_t line = 1;
    for (const LogRecord& record : ReadAll(store)) {
      ASSERT_EQ(record.line, line++);
      ASSERT_FALSE(record.note);
      ASSERT_LE(record.text.size(), static_cast<size_t>(kMaxRecordText));
    }
    ASSERT_EQ(spool->counters().records, line - 1);
    ASSERT_EQ(spool->counters().bytes, static_cast<int64_t>(out.size() + err.size()));
  }
}

TEST(Capture, ALineOfMegabytesIsCutAndComesBackWhole) {
  ManualClock clock;
  SpoolDisk disk;
  MemoryStore store;
  std::unique_ptr<LogSpool> spool = OpenSpool(disk, clock);
  LogShipper shipper(store, clock, *spool, {kJob, 1, 0});
  const std::string line = std::string(5'000'000, 'z') + "\nshort\n";
  for (size_t at = 0; at < line.size(); at += 65'536) {
    spool->Write(LogStream::kOut, std::string_view(line).substr(at, 65'536));
  }
  ASSERT_TRUE(ShipEverything(*spool, shipper, clock));
  const std::vector<LogRecord> records = ReadAll(store);
  EXPECT_EQ(records.size(), 5'000'000 / 65'536 + 2);
  EXPECT_TRUE(records[0].continues);
  EXPECT_EQ(BytesOf(records), line);
  EXPECT_EQ(spool->counters().lines, 2);
}

TEST(Capture, AnUnfinishedLineIsRecordedAfterASilence) {
  ManualClock clock;
  SpoolDisk disk;
  std::unique_ptr<LogSpool> spool = OpenSpool(disk, clock);
  spool->Write(LogStream::kOut, "loading");
  EXPECT_EQ(*spool->Tick(), clock.Mono() + Duration::Ms(300));
  clock.Advance(Duration::Ms(299));
  EXPECT_TRUE(spool->Tick().has_value());
  EXPECT_EQ(spool->counters().records, 0);
  clock.Advance(Duration::Ms(1));
  EXPECT_FALSE(spool->Tick().has_value());
  EXPECT_EQ(spool->counters().records, 1);
  spool->Write(LogStream::kOut, " done\n");
  Result<LogSpool::Chunk> chunk = spool->Read(1, 1000);
  ASSERT_TRUE(chunk.ok());
  const std::string now = std::to_string(clock.Wall().ms);
  EXPECT_EQ(chunk->text, now + " o+ loading\n" + now + " o  done\n");
}

TEST(Capture, AProgressBarThatIsNeverSilentIsShownEverySecond) {
  ManualClock clock;
  SpoolDisk disk;
  std::unique_ptr<LogSpool> spool = OpenSpool(disk, clock);
  for (int i = 0; i < 100; ++i) {  // ten seconds
    spool->Write(LogStream::kErr, "\r" + std::to_string(i) + "%");
    clock.Advance(Duration::Ms(100));
    spool->Tick();
  }
  EXPECT_GE(spool->counters().records, 9);
  EXPECT_LE(spool->counters().records, 11);
  EXPECT_EQ(spool->stderr_tail(), "99%");
}

TEST(Capture, StderrTailIsTheEndInWholeLinesAndPrintable) {
  ManualClock clock;
  SpoolDisk disk;
  std::unique_ptr<LogSpool> spool = OpenSpool(disk, clock);
  for (int i = 0; i < 1000; ++i) {
    spool->Write(LogStream::kErr, "line " + std::to_string(i) + "\n");
    spool->Write(LogStream::kOut, "not this\n");
  }
  spool->Write(LogStream::kErr, "a\rb\rlast \x1b[31mred\n");
  const std::string tail = spool->stderr_tail();
  EXPECT_LE(tail.size(), 4096u);
  EXPECT_GT(tail.size(), 3900u);
  EXPECT_EQ(tail.rfind("line ", 0), 0u) << tail.substr(0, 20);
  EXPECT_EQ(tail.find("not this"), std::string::npos);
  EXPECT_EQ(tail.find('\x1b'), std::string::npos);
  EXPECT_NE(tail.find("\nlast "), std::string::npos);
  spool->Write(LogStream::kErr, std::string(10'000, 'w'));
  EXPECT_EQ(spool->stderr_tail(), std::string(4096, 'w'));
}

TEST(Capture, WhatStokerSaysIsOneSystemLine) {
  ManualClock clock;
  SpoolDisk disk;
  MemoryStore store;
  std::unique_ptr<LogSpool> spool = OpenSpool(disk, clock);
  LogShipper shipper(store, clock, *spool, {kJob, 1, 0});
  spool->Say("stoker: restoring\ncheckpoint 1-3");
  ASSERT_TRUE(ShipEverything(*spool, shipper, clock));
  const std::vector<LogRecord> records = ReadAll(store);
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].stream, LogStream::kSystem);
  EXPECT_EQ(records[0].text, "stoker: restoring checkpoint 1-3");
  EXPECT_EQ(spool->counters().lines, 0);
}

TEST(Capture, AFullDiskLosesLinesAloudAndNeverBlocks) {
  ManualClock clock;
  SpoolDisk disk;
  MemoryStore store;
  std::unique_ptr<LogSpool> spool = OpenSpool(disk, clock);
  LogShipper shipper(store, clock, *spool, {kJob, 1, 0});
  disk.room = 1000;
  std::string written;
  for (int i = 0; i < 200; ++i) {
    const std::string line = "line " + std::to_string(i) + "\n";
    spool->Write(LogStream::kOut, line);
    if (spool->counters().lost_lines == 0) written += line;
  }
  const int64_t lost = spool->counters().lost_lines;
  EXPECT_GT(lost, 100);
  EXPECT_NE(spool->trouble().find("no space"), std::string::npos) << spool->trouble();
  clock.Advance(Duration::Seconds(2));
  disk.room = 1 << 20;
  spool->Tick();  // in a silence too
  EXPECT_EQ(spool->trouble(), "");
  spool->Write(LogStream::kOut, "after\n");
  ASSERT_TRUE(ShipEverything(*spool, shipper, clock));
  EXPECT_EQ(StreamBytes(store, LogStream::kOut), written + "after\n");
  EXPECT_EQ(StreamBytes(store, LogStream::kSystem),
            "stoker: " + std::to_string(lost) + " lines lost: disk full\n");
}

TEST(Capture, AnEndlesslyUnreachableStoreMeetsTheLimitOfTheSpool) {
  ManualClock clock;
  SpoolDisk disk;
  LogSpoolOptions options;
  options.max_bytes = 100'000;
  options.rotate_bytes = 10'000;
  std::unique_ptr<LogSpool> spool = OpenSpool(disk, clock, options);
  clock.Advance(Duration::Seconds(10));  // nobody trims
  for (int i = 0; i < 10'000; ++i) spool->Write(LogStream::kOut, "a line of some length\n");
  int64_t kept = 0;
  for (const auto& [name, data] : disk.files) kept += static_cast<int64_t>(data.size());
  EXPECT_LT(kept, 110'000);
  EXPECT_GT(spool->counters().lost_lines, 0);
}

}  // namespace
}  // namespace stoker
