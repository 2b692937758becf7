// SPDX-License-Identifier: Apache-2.0
// Trees of many files, saved at random paces and killed at random moments: never mixed.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/prng.h"
#include "test/checkpoint/chunk_tree.h"

namespace stoker::test {
namespace {

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
      bench.files.Write("w.zarr/.zattrs", ChunkBytes("a", step));
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
