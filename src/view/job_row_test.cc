// SPDX-License-Identifier: Apache-2.0
#include "view/job_row.h"

#include <gtest/gtest.h>

namespace stoker {
namespace {

using Pairs = Hyperparameters;

TEST(JobRow, HyperparametersOfAScript) {
  JobSpec spec;
  spec.run = "python prepare.py --n 3\nA=1 python train.py --lr 0.1 --out $OUT > log\n";
  spec.hyperparameters = {{"width", "3"}};
  const Pairs expected = {{"width", "3"}, {"depth", "2"}, {"lr", "0.1"}};
  EXPECT_EQ(HyperparametersOf(&spec, {{"depth", "2"}}), expected);
}

TEST(JobRow, WhatTheProgramSaidCountsMoreThanItsCommand) {
  JobSpec spec;
  spec.argv = {"python", "train.py", "--lr", "0.1", "--api-key", "hunter2"};
  const Pairs expected = {{"lr", "0.2"}, {"api_key", "***"}};
  EXPECT_EQ(HyperparametersOf(&spec, {{"lr", "0.2"}}), expected);
}

}  // namespace
}  // namespace stoker
