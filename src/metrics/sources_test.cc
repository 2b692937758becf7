// SPDX-License-Identifier: Apache-2.0
#include "metrics/sources.h"

#include <gtest/gtest.h>

namespace stoker::metrics {
namespace {

TEST(Sources, NamesAreComparedWithoutCaseSeparatorsAndTheirPrefix) {
  for (const char* name : {"loss", "Train Loss", "train/loss", "train_loss", "Loss/train",
                           "train/train_loss", "train_loss by epoch"}) {
    EXPECT_EQ(PlainName(name), PlainName("loss")) << name;
  }
  for (const char* name : {"val_loss", "Val Loss", "Loss/val", "validation/loss", "valid loss"}) {
    EXPECT_EQ(PlainName(name), PlainName("val/loss")) << name;
  }
  EXPECT_EQ(PlainName("eval_loss"), PlainName("eval/loss"));
  EXPECT_EQ(PlainName("learning_rate"), PlainName("train/learning_rate"));
  EXPECT_NE(PlainName("loss"), PlainName("val/loss"));
  EXPECT_NE(PlainName("loss"), PlainName("test_loss"));
  EXPECT_NE(PlainName("loss"), PlainName("closs"));
  EXPECT_NE(PlainName("train"), PlainName("val"));
}

TEST(Sources, TheBestThatHasANameCounts) {
  SourceChoice choice;
  choice.Add("loss", "log", true);
  choice.Add("acc", "log", true);
  EXPECT_TRUE(choice.Counts("loss", "log"));
  choice.Add("train/loss", "csv:", true);
  EXPECT_FALSE(choice.Counts("loss", "log"));
  EXPECT_TRUE(choice.Counts("acc", "log"));
  EXPECT_TRUE(choice.Counts("train/loss", "csv:"));
  choice.Add("train/loss", "tensorboard:", true);
  EXPECT_FALSE(choice.Counts("train/loss", "csv:"));
  EXPECT_TRUE(choice.Counts("train/loss", "tensorboard:"));
  choice.Add("train/loss", "own", true);
  EXPECT_FALSE(choice.Counts("train/loss", "tensorboard:"));
  choice.Add("loss", "pattern", false);
  EXPECT_TRUE(choice.Counts("loss", "pattern"));
}

TEST(Sources, BarsGiveNothingWhereABetterOneHasSteps) {
  SourceChoice choice;
  choice.Add("loss", "log", true);
  choice.Add("final", "jsonl:", false);
  EXPECT_TRUE(choice.Counts("it", "bar"));
  choice.Add("score", "jsonl:", true);
  EXPECT_FALSE(choice.Counts("it", "bar"));
  EXPECT_TRUE(choice.Counts("it", "log"));
}

}  // namespace
}  // namespace stoker::metrics
