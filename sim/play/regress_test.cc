// SPDX-License-Identifier: Apache-2.0
// Seeds that once found a defect of the shipped code. The worlds change with the code, so that a
// seed may meet something else by now; what it found has a test of its own beside the code.
#include <gtest/gtest.h>

#include "sim/check/checks.h"
#include "sim/play/swarm.h"
#include "sim/world/world.h"

namespace stoker::sim {
namespace {

struct Found {
  uint64_t seed;
  const char* what;
};

constexpr char kLateManifest[] =
    "a manifest that was given up arrived after retention had cleared its checkpoint away";

class Regress : public testing::TestWithParam<Found> {};

TEST_P(Regress, HoldsNow) {
  World world(DrawPlan(GetParam().seed));
  const Checks checks = WatchAll(world);
  world.Run();
  ASSERT_FALSE(world.breach().has_value())
      << world.breach()->rule << ": " << world.breach()->what << "\nonce: " << GetParam().what;
}

INSTANTIATE_TEST_SUITE_P(
    Seeds, Regress,
    testing::Values(Found{1261, kLateManifest}, Found{1330, kLateManifest},
                    Found{1749, kLateManifest}, Found{1941, kLateManifest},
                    Found{2189, kLateManifest},
                    Found{11432, "gc removed what was just written again"},
                    Found{12835, "a file begun on a full disk counted"},
                    Found{17496, "a program that was killed had no excuse"},
                    Found{32551, "moments of different steps were paired"},
                    Found{80849, "one of two files met a full disk"},
                    Found{59977, "a notice was taken for an end"},
                    Found{93397, "ends of different steps were paired"},
                    Found{141454, "an agent that stood still began anew"},
                    Found{169511, "who was given up failed, as a user's"},
                    Found{191946, "the same bytes were committed twice"},
                    Found{202588, "the record was not back at the end"},
                    Found{238338, "a newer segment was no excuse"},
                    Found{257323, "a node answered with an older moment"},
                    Found{314425, "a damaged record hid what its job saved"},
                    Found{369995, "two gangs shared a small quota"},
                    Found{415383, "nobody looked while the disk was full"},
                    Found{435275, "a program was killed twice, by others"},
                    Found{490767, "a job was given up before it was there"},
                    Found{598255, "the same bytes on more nodes were new"},
                    Found{734688, "a report was damaged: it never came"},
                    Found{14000064310, "counts were given up for who had moved on"},
                    Found{16000116655, "a report of later was of before: a list was slow"},
                    Found{22020000414, "a provider went away just after it had queued a machine"},
                    Found{22130025899, "a move came before a refusal was judged"},
                    Found{22050025819, "one full disk was the end of another"},
                    Found{22090041849, "an old look counted for a late round"},
                    Found{28000068577, "one 403 ended a machine that was kept"},
                    Found{30000056596, "a failed upload's file was cleared away, and given"},
                    Found{30000114913, "the same of a step's folder"},
                    Found{30000014978, "a job was asked for before it had a ceiling"},
                    Found{42000108271, "a file that a full disk refused was missing at a good end"},
                    Found{42000109942, "a good end was taken for rest by another node"},
                    Found{42000303160, "a save of unknown order began a round in its middle"}),
    [](const auto& test) { return "Seed" + std::to_string(test.param.seed); });

}  // namespace
}  // namespace stoker::sim
