// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/rule/step_number.h"

#include <gtest/gtest.h>

namespace stoker::test {
namespace {

TEST(StepNumber, IsOneWhereTheNameSaysSo) {
  const std::pair<const char*, int64_t> cases[] = {
      {"step-200/model.pt", 200},
      {"step_200.pt", 200},
      {"step200", 200},
      {"checkpoint-200/model.safetensors", 200},
      {"checkpoint_12.pt", 12},
      {"epoch=12.ckpt", 12},
      {"epoch=12-step=3400.ckpt", 3400},
      {"epoch=12-val_loss=0.31.ckpt", 12},
      {"model--val_loss=0.31-epoch=12-last.ckpt", 12},
      {"lightning_logs/version_1/checkpoints/epoch=2-step=30.ckpt", 30},
      {"global_step1000/mp_rank_00_model_states.pt", 1000},
      {"iter_0001000/mp_rank_00/model_optim_rng.pt", 1000},
      {"model.ckpt-1000.index", 1000},
      {"Epoch 7.pth", 7},
      {"checkpoint-200/global_step200/zero_pp_rank_1.pt", 200},
      {"ep3-rank0.pt", 3},
      {"epoch_0/model.pt", 0},
      {"s-21", 21},
      {"model_200.pt", 200},
      {"save-3/optimizer.bin", 3},
      {"step-7/shard-2.pt", 7},
  };
  for (const auto& [path, step] : cases) EXPECT_EQ(StepInPath(path).value, step) << path;
}

TEST(StepNumber, IsNoOtherDigit) {
  for (const char* path : {"best-val_loss=0.31.ckpt",
                           "version_1/last.ckpt",
                           "last-v1.ckpt",
                           "model.ckpt-v1",
                           "checkpoint-2024-11-28/model.pt",
                           "checkpoint_20241128.pt",
                           "ckpt-1732770000.pt",
                           "node-3/model.pt",
                           "gpu2.pt",
                           "Rank_2.pt",
                           "fold-3/last.pt",
                           "loss-3.pt",
                           "model-20240131.pt",
                           "model_1_2.pt",
                           "resnet50.pt",
                           "llama-7b/model-00001-of-00002.safetensors",
                           "checkpoint-1-of-3.pt",
                           "step=0.5.pt",
                           "max_steps=1000/model.pt",
                           "misstep3.pt",
                           "events.out.tfevents.1732770000.host-1",
                           "checkpoint_2_5000.pt",
                           "step200k.pt",
                           "state.pt",
                           "step-1234567890123456.pt",
                           "run-2024-11-28/last.pt"}) {
    EXPECT_EQ(StepInPath(path).value, -1) << path;
  }
}

TEST(StepNumber, IsCertainWhereTheNameSaysWhatItCounts) {
  EXPECT_TRUE(StepInPath("epoch_3.pt").certain());
  EXPECT_FALSE(StepInPath("s-21").certain());
  EXPECT_FALSE(StepInPath("last.pt").certain());
}

TEST(StepNumber, IsReadInTheTrainersState) {
  EXPECT_EQ(StepInTrainerState(R"({"epoch": 1.5, "global_step": 200, "log_history": [{}]})"), 200);
  for (const char* text :
       {"", "{", "[]", "{}", R"({"global_step": "200"})", R"({"global_step": 2.5})",
        R"({"global_step": -7})", R"({"global_step": 18446744073709551615})"}) {
    EXPECT_EQ(StepInTrainerState(text), -1) << text;
  }
}

}  // namespace
}  // namespace stoker::test
