// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/rule/burst.h"

#include <gtest/gtest.h>

#include "base/prng.h"
#include "test/checkpoint/keeper_bench.h"

namespace stoker::test {
namespace {

constexpr int kChunks = 480;
constexpr int kShare = 4;  // of them are written by each save but the first

std::string Chunk(int i) { return "w.zarr/" + std::to_string(i / 10) + "/" + std::to_string(i); }
std::string Bytes(const std::string& path, int step) { return path + Padded(step, 6); }
bool Due(int chunk, int step) { return step == 1 || chunk % kShare == step % kShare; }

// What lies there when `step` is saved.
Contents Tree(int step) {
  Contents out;
  for (int i = 0; i < kChunks; ++i) {
    int at = step;
    while (!Due(i, at)) --at;
    out[Chunk(i)] = Bytes(Chunk(i), at);
  }
  out["w.zarr/.zattrs"] = Bytes("a", step);
  return out;
}

// Those of the chunks of `step` that lie in [from, to), all in one moment.
void WriteChunks(Bench& bench, int step, int from, int to) {
  for (int i = from; i < to; ++i) {
    if (Due(i, step)) bench.files.Write(Chunk(i), Bytes(Chunk(i), step));
  }
}

void Save(Bench& bench, int step, Duration late = {}) {
  for (int i = 0; i < kChunks; i += 60) {
    WriteChunks(bench, step, i, i + 60);
    bench.Run(Duration::Ms(20));
  }
  bench.Run(late);
  bench.files.Write("w.zarr/.zattrs", Bytes("a", step));
}

TEST(Burst, ATreeOfWhichEachSaveWritesOtherFilesIsKeptAtItsPace) {
  Bench bench;
  for (int step = 1; step <= 12; ++step) {
    Save(bench, step);
    bench.Run(Duration::Ms(1000));
  }
  EXPECT_GE(bench.keeper->commits(), 5);
  EXPECT_EQ(bench.Restored(), Tree(12));
  WriteChunks(bench, 13, 0, kChunks * 9 / 10);
  bench.Run(Duration::Ms(900));
  EXPECT_EQ(bench.Restored(), Tree(12)) << "a part is taken for a save";
  bench.files.Kill();
  bench.End(0, 9);
  EXPECT_EQ(bench.Restored(), Tree(12));
}

TEST(Burst, WhatIsNotAsManyFilesAsBeforeIsNoSave) {
  for (const int signal : {0, 9}) {
    Bench bench;
    for (int step = 1; step <= 10; ++step) {
      Save(bench, step);
      bench.Run(Duration::Ms(1000));
    }
    ASSERT_EQ(bench.Restored(), Tree(10));
    // Its writer failed, and closed the tree all the same.
    WriteChunks(bench, 11, 0, kChunks * 9 / 10);
    bench.files.Write("w.zarr/.zattrs", Bytes("a", 11));
    bench.Run(Duration::Ms(1000));
    EXPECT_EQ(bench.Restored(), Tree(10));
    bench.files.alive = false;
    bench.End(1, signal);
    EXPECT_EQ(bench.Restored(), Tree(10));
  }
}

TEST(Burst, HalvesThatNothingClosesAreNoSaves) {
  Bench bench;
  for (int step = 1; step <= 10; ++step) {
    for (int half = 0; half < 2; ++half) {
      for (int i = 0; i < 120; ++i) {
        bench.files.Write("t/" + std::to_string(half * 120 + i), Bytes("x", step));
      }
      bench.Run(Duration::Ms(half == 0 ? 700 : 1200));
    }
  }
  EXPECT_EQ(bench.keeper->commits(), 0);
}

TEST(Burst, AClosingFileThatIsLateOnceStillCloses) {
  Bench bench;
  for (int step = 1; step <= 12; ++step) {
    Save(bench, step, Duration::Ms(step == 9 ? 700 : 0));
    bench.Run(Duration::Ms(1000));
  }
  EXPECT_EQ(bench.Restored(), Tree(12));
}

class TreeModel : public ::testing::TestWithParam<int> {};

// Random pauses between two saves and inside them, a random end.
TEST_P(TreeModel, NeverMixed) {
  Prng prng(static_cast<uint64_t>(GetParam()));
  Bench bench;
  bench.uploads = false;
  const int64_t pause = prng.Between(200, 1900);
  const int64_t stall = prng.Between(0, 900);
  const MonoTime kill = bench.clock.now + Duration::Ms(prng.Between(5'000, 30'000));
  MonoTime act = bench.clock.now;
  int step = 1;
  int next = 0;
  while (bench.clock.now < kill) {
    bench.clock.now = bench.clock.now + Duration::Ms(prng.Between(3, 40));
    if (act <= bench.clock.now && next < kChunks) {
      const int to = std::min<int>(kChunks, next + static_cast<int>(prng.Between(20, 200)));
      WriteChunks(bench, step, next, to);
      next = to;
      if (prng.Chance(1, 12)) act = bench.clock.now + Duration::Ms(prng.Between(0, stall));
    } else if (act <= bench.clock.now) {
      bench.files.Write("w.zarr/.zattrs", Bytes("a", step));
      act = bench.clock.now + Duration::Ms(prng.Between(pause / 2, pause));
      next = 0;
      ++step;
    }
    bench.keeper->Step();
    if (prng.Chance(1, 3)) (void)bench.keeper->RunUpload();
  }
  static constexpr Fate kSeen[] = {Fate::kKilled, Fate::kUnknown, Fate::kLikely};
  bench.files.Kill(kSeen[prng.Below(3)]);
  bench.uploads = true;
  bench.End(1, prng.Chance(1, 2) ? 9 : 0);
  const Contents restored = bench.Restored();
  if (restored.empty()) return;
  const std::string attributes = restored.at("w.zarr/.zattrs");
  const int found = std::stoi(attributes.substr(attributes.size() - 6));
  EXPECT_EQ(restored, Tree(found)) << "step " << found << " of " << step;
}

INSTANTIATE_TEST_SUITE_P(Seeds, TreeModel, ::testing::Range(0, 16));

}  // namespace
}  // namespace stoker::test
