// SPDX-License-Identifier: Apache-2.0
#include "view/best_run.h"

#include <gtest/gtest.h>

#include <cmath>

namespace stoker {
namespace {

RunOutcome Trained(const std::string& id, const std::string& lr, const std::string& width,
                   std::vector<double> accuracies) {
  RunOutcome run{id, {{"lr", lr}, {"width", width}, {"seed", "1"}}, {}};
  for (size_t i = 0; i < accuracies.size(); ++i) {
    const auto step = static_cast<int64_t>(i);
    run.metrics["val_acc"].Add(step, WallTime{1}, accuracies[i]);
    run.metrics["loss"].Add(step, WallTime{1}, 1 - accuracies[i]);
    run.metrics["epoch_time"].Add(step, WallTime{1}, 3);
  }
  return run;
}

std::vector<RunOutcome> Four() {
  return {Trained("a", "1", "8", {0.1, 0.2, 0.1}), Trained("b", "0.1", "8", {0.5, 0.9, 0.8}),
          Trained("c", "0.1", "64", {0.6, 0.97, 0.9}), Trained("d", "1", "64", {0.2, 0.1, 0.3})};
}

TEST(BestRun, IsNamedWithWhatSetsItApart) {
  const auto runs = Four();
  const auto best = FindBest(runs, "");
  ASSERT_TRUE(best);
  EXPECT_EQ(BestText(*best, runs),
            "best: c, greatest val_acc 0.97 at step 1; then b with 0.9\n"
            "  lr=0.1: in the middle 0.935 with 0.1 (2), 0.25 with 1 (2)\n"
            "  width=64: in the middle 0.635 with 64 (2), 0.55 with 8 (2)\n");
}

TEST(BestRun, TheDirectionMayBeTold) {
  const auto runs = Four();
  EXPECT_EQ(runs[FindBest(runs, "min.val_acc")->index].id, "a");
  EXPECT_EQ(runs[FindBest(runs, "loss")->index].id, "c");
  EXPECT_EQ(runs[FindBest(runs, "max.loss")->index].id, "a");
  EXPECT_FALSE(FindBest(runs, "los"));
  EXPECT_FALSE(FindBest({runs[0]}, "loss"));
  EXPECT_FALSE(FindBest({}, ""));
}

TEST(BestRun, WhatIsNotFiniteIsNoBest) {
  auto runs = Four();
  runs.push_back(Trained("e", "30", "8", {std::nan(""), std::nan("")}));
  runs.push_back(Trained("f", "30", "8", {}));
  const auto best = FindBest(runs, "loss");
  ASSERT_TRUE(best);
  EXPECT_EQ(runs[best->index].id, "c");
  EXPECT_EQ(best->without, 2U);
  EXPECT_EQ(best->settings[0].name, "lr");
  EXPECT_NE(BestText(*best, runs).find("none with 30 (2)"), std::string::npos);
}

TEST(BestRun, NamesSayWhatIsBetter) {
  for (const char* name : {"val_acc", "eval/accuracy", "f1", "AUC", "mean_reward"}) {
    EXPECT_TRUE(GreaterIsBetter(name)) << name;
  }
  for (const char* name : {"loss", "val_loss", "perplexity", "mse", "lr", "accuracy_loss"}) {
    EXPECT_FALSE(GreaterIsBetter(name)) << name;
  }
}

}  // namespace
}  // namespace stoker
