// SPDX-License-Identifier: Apache-2.0
#include "node/metrics/run_shape.h"

#include <gtest/gtest.h>

namespace stoker::node {
namespace {

bool Same(const std::string& a, const std::string& b) {
  return ShapeOf(a, "box7") == ShapeOf(b, "box7");
}

TEST(RunShape, WhatLoggersCountOrStampIsNotOfIt) {
  EXPECT_TRUE(Same("lightning_logs/version_0", "lightning_logs/version_12"));
  EXPECT_TRUE(Same("out/runs/Nov27_23-39-18_box7", "out/runs/Dec01_00-00-01_box7"));
  EXPECT_TRUE(Same("runs/Nov27_23-39-18_ip-10-0-1-7.internal", "runs/Nov28_03-09-18_box7"));
  EXPECT_TRUE(Same("runs/Nov27_23-39-18_box7-a_lr=0.1", "runs/Nov28_01-00-18_box7-a_lr=0.1"));
  EXPECT_TRUE(Same("outputs/2026-11-24/10-11-12/tb", "outputs/2026-11-25/01-01-01/tb"));
  EXPECT_TRUE(Same("logs/20261124-101112", "logs/20261125-000000"));
  EXPECT_TRUE(Same("logs/2026-11-24T10:11:12.123456", "logs/2026-11-25T10:11:12.5"));
  EXPECT_TRUE(Same("log/1732449123.4", "log/1732449999.25"));
  EXPECT_TRUE(Same("tb/PPO_1", "tb/PPO_2"));
  EXPECT_TRUE(Same("exp", "exp2"));
  EXPECT_TRUE(Same("run-3k9f2a1b", "run-9x8y7z6w"));
  EXPECT_TRUE(Same("logs/123e4567-e89b-12d3-a456-426614174000",
                   "logs/923e4567-a89b-42d3-b456-426614174999"));
  EXPECT_TRUE(Same("train_box7_41973", "train_box7_52001"));
  EXPECT_TRUE(Same("wandb/offline-run-20261128_130559-7widjcos",
                   "wandb/offline-run-20261128_131204-abcdefgh"));
  EXPECT_TRUE(Same("mlruns/0/3a971b3129024e41a0c44089b8f06920",
                   "mlruns/0/feb1aaaaaaaaaaaaaaaaaaaaaaaaaaaa"));
}

TEST(RunShape, WhatSaysWhichRunItIsStays) {
  EXPECT_FALSE(Same("fold_0/version_0", "fold_1/version_0"));
  EXPECT_FALSE(Same("seed_1", "seed_2"));
  EXPECT_FALSE(Same("lr_0.00001", "lr_0.00002"));
  EXPECT_FALSE(Same("lr_0.1", "lr_0.2"));
  EXPECT_FALSE(Same("resnet50", "resnet18"));
  EXPECT_FALSE(Same("imagenet1k", "imagenet22k"));
  EXPECT_FALSE(Same("runs/Nov27_23-39-18_box7-fold1", "runs/Nov27_23-50-00_box7-fold2"));
  EXPECT_FALSE(Same("runs/Nov27_23-39-18_box7_lr=1", "runs/Nov27_23-50-00_box7_lr=2"));
  EXPECT_FALSE(Same("a", "b"));
  EXPECT_FALSE(Same("", "version_0"));
}

}  // namespace
}  // namespace stoker::node
