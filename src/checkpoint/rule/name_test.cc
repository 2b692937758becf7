// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/rule/name.h"

#include <gtest/gtest.h>

namespace stoker {
namespace {

using Numbers = std::vector<int64_t>;

TEST(Name, APatternIsOfTheWholeName) {
  EXPECT_TRUE(MatchesName("checkpoint-{n}", "checkpoint-200"));
  EXPECT_FALSE(MatchesName("checkpoint-{n}", "checkpoint-200x"));
  EXPECT_FALSE(MatchesName("checkpoint-{n}", "tmp-checkpoint-200"));
  EXPECT_TRUE(MatchesName("__{k}_{i}.distcp", "__0_12.distcp"));
  EXPECT_TRUE(MatchesName("*_states.pt", "mp_rank_00_model_states.pt"));
  EXPECT_FALSE(MatchesName("*_states.pt", "global_step1/x_states.pt")) << "one folder is one part";
  EXPECT_TRUE(MatchesName("global_step*/*", "global_step1/x_states.pt"));
  EXPECT_TRUE(MatchesName(".tmp??????", ".tmpHDFYV6"));
  EXPECT_TRUE(MatchesAny("rng_state.pth|rng_state_{k}.pth", "rng_state_1.pth"));
}

TEST(Name, AWordStandsForTheSameTwice) {
  Captured captured;
  EXPECT_TRUE(MatchesName("{name}-{n}.data-{i}-of-{w}", "ckpt-7.data-00000-of-00001", &captured));
  EXPECT_EQ(captured.at("name"), "ckpt");
  EXPECT_EQ(captured.at("n"), "7");
  EXPECT_TRUE(MatchesName("{n}-{n}", "12-12"));
  EXPECT_FALSE(MatchesName("{n}-{n}", "12-13"));
}

TEST(Name, ARowHasOneNameAndNumbersThatOrderIt) {
  EXPECT_EQ(RowOf("step-300"), (SaveRow{"step-#", Numbers{300, 300}}));
  EXPECT_EQ(RowOf("epoch=3-step=1200.ckpt").name, "epoch=#-step=#.ckpt");
  EXPECT_LT(RowOf("epoch=3-step=900.ckpt").numbers, RowOf("epoch=3-step=1200.ckpt").numbers);
  EXPECT_EQ(RowOf("model.pt"), (SaveRow{"model.pt", {}}));
  EXPECT_EQ(RowOf("rl_model_20_steps.zip").name, "rl_model_#_steps.zip");
}

TEST(Name, DigitsOfPartsAndExtensionsAreNoSaves) {
  for (const char* name : {"rank_1.pt", "shard-3.bin", "model-00001-of-00003.safetensors",
                           "trial_4", "fold2.pt", "seed-7.ckpt", "weights.h5", "version_2"}) {
    EXPECT_EQ(RowOf(name), (SaveRow{name, {}})) << name;
  }
}

TEST(Name, AValueOrdersNothing) {
  const SaveRow row = RowOf("epoch=1-val_loss=0.31.ckpt");
  EXPECT_EQ(row.name, "epoch=#-val_loss=#.#.ckpt");
  EXPECT_EQ(row.numbers, (Numbers{1, 1}));
}

TEST(Name, ADateIsAStamp) {
  EXPECT_TRUE(IsStamp("2026-11-28_10-00-00"));
  EXPECT_TRUE(IsStamp("run-20261128"));
  EXPECT_FALSE(IsStamp("step-20261"));
  EXPECT_FALSE(IsStamp("checkpoint-2000"));
}

}  // namespace
}  // namespace stoker
