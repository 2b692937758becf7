// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/rule/burst.h"

#include <gtest/gtest.h>

#include "test/checkpoint/chunk_tree.h"

namespace stoker::test {
namespace {

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
    bench.files.Write("w.zarr/.zattrs", ChunkBytes("a", 11));
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
        bench.files.Write("t/" + std::to_string(half * 120 + i), ChunkBytes("x", step));
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

}  // namespace
}  // namespace stoker::test
