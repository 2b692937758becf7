// SPDX-License-Identifier: Apache-2.0
// A file of a step goes shortly before the program's end: of a save, a lock or a working name; else
// the step is being cleared away.
#include <gtest/gtest.h>

#include "base/text.h"
#include "test/checkpoint/keeper_bench.h"

namespace stoker::test {
namespace {

std::string Whole(const std::string& what, int step) {
  return what + " of step " + Padded(step, 6) + std::string(200, '.');
}

void WriteStep(Bench& bench, int step) {
  for (const std::string what : {"a", "b"}) {
    bench.files.Write("step-" + std::to_string(step) + "/" + what + ".pt", Whole(what, step));
  }
}

// A lock, or a name that Orbax gave its folder while it wrote: gone a moment before the end.
TEST(ClearedAway, ACleanEndSettlesWhatALockWasTakenFrom) {
  for (const std::string unit : {"step-2", "model"}) {
    Bench bench;
    bench.files.Write("step-1/a.pt", Whole("a", 1));
    bench.Run(Duration::Seconds(3));
    bench.files.Write(unit + "/a.pt", Whole("a", 2));
    bench.files.Write(unit + "/lock", "");
    bench.Run(Duration::Ms(300));
    bench.files.Delete(unit + "/lock");
    bench.Run(Duration::Ms(300));
    bench.End(0);
    EXPECT_EQ(bench.Restored(),
              (Contents{{"step-1/a.pt", Whole("a", 1)}, {unit + "/a.pt", Whole("a", 2)}}))
        << unit;
  }
}

// Told to end, a program saves, and leaves with an error: so does one with Orbax.
TEST(ClearedAway, TheLastStepIsProvenThoughALockWasTakenFromIt) {
  Bench bench;
  for (int step = 1; step <= 3; ++step) {
    const std::string unit = "step-" + std::to_string(step);
    bench.files.Write(unit + "/a.pt", Whole("a", step));
    bench.files.Write(unit + "/lock", "");
    bench.files.Delete(unit + "/lock");
    bench.Run(step < 3 ? Duration::Seconds(5) : Duration::Ms(300));
  }
  bench.End(1, 0, true);
  EXPECT_EQ(bench.Restored().count("step-3/a.pt"), 1u);
}

// It saves once more when it is told to end, clears the step away first, and is killed at that.
TEST(ClearedAway, AKillWhileTheNewestStepIsClearedAwayLeavesItOut) {
  Bench bench;
  for (int step = 1; step <= 5; ++step) {
    WriteStep(bench, step);
    bench.Run(step < 5 ? Duration::Seconds(5) : Duration::Ms(300));
  }
  bench.files.Delete("step-5/a.pt");
  bench.Run(Duration::Ms(100));
  bench.End(0, 9, true);
  const Contents restored = bench.Restored();
  EXPECT_EQ(restored.count("step-5/b.pt"), 0u) << "half of it is gone";
  EXPECT_EQ(restored.count("step-4/a.pt"), 1u);
}

TEST(ClearedAway, ACleanEndLeavesOutAnOldStepThatWasBeingClearedAway) {
  Bench bench;
  WriteStep(bench, 1);
  bench.Run(Duration::Seconds(3));
  WriteStep(bench, 2);
  bench.files.Delete("step-1/a.pt");
  bench.Run(Duration::Ms(300));
  bench.End(0);
  EXPECT_EQ(bench.Restored(),
            (Contents{{"step-2/a.pt", Whole("a", 2)}, {"step-2/b.pt", Whole("b", 2)}}));
}

}  // namespace
}  // namespace stoker::test
