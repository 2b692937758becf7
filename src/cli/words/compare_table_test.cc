// SPDX-License-Identifier: Apache-2.0
#include "cli/words/compare_table.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "cli/terminal/table.h"

namespace stoker::cli {
namespace {

Compared RunOf(int n) {
  Compared job;
  const std::string number = std::to_string(n);
  job.id = "j000000" + number;
  job.name = "sweep";
  job.hyperparameters = {{"lr", "0." + number}, {"optimizer", "adam"}};
  job.code = {{"command", "python3 train.py --config base.yaml --data /data/imagenet --lr 0." +
                              number + " --epochs 30 --workers 4"}};
  metrics::Totals totals;
  totals.count = 10;
  for (const char* name :
       {"train/a_very_long_name_of_some_loss", "val/a_very_long_name_of_some_loss", "val_acc",
        "eval_samples_per_second"}) {
    totals.min = 0.1 * n;
    totals.last = totals.max = 0.1 * n + 0.01;
    job.metrics[name] = totals;
  }
  totals.last = totals.min = totals.max = 1;
  job.metrics["same"] = totals;
  job.result = {{"state", "Succeeded"}, {"ran", number + "m"}};
  return job;
}

std::string ShownTable(int runs, CompareLook look = {}) {
  std::vector<Compared> jobs;
  std::vector<RunOutcome> outcomes;
  for (int n = 1; n <= runs; ++n) {
    jobs.push_back(RunOf(n));
    outcomes.push_back({jobs.back().id, jobs.back().hyperparameters, jobs.back().metrics});
  }
  const std::string text = CompareTable(jobs, FindBest(outcomes, "val_acc"), look);
  for (const std::string& line : Split(text, '\n'))
    EXPECT_LE(DisplayWidth(line), look.width) << text;
  return text;
}

bool Contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(CompareTable, ThreeJobsAreColumns) {
  const std::string text = ShownTable(3);
  for (const char* part : {"j0000001", "HYPERPARAMETERS\n  lr ", "CODE\n  command", "val_acc",
                           "0.11 (0.1 to 0.11)", "0.3 --epochs", "RESULT\n  ran"}) {
    EXPECT_TRUE(Contains(text, part)) << part << "\n" << text;
  }
  for (const char* part : {"optimizer", "same", "state"}) {
    EXPECT_FALSE(Contains(text, part)) << part << "\n" << text;
  }
}

TEST(CompareTable, MoreAreRowsTheBestFirst) {
  const std::string text = ShownTable(8);
  const std::vector<std::string> lines = Split(text, '\n');
  EXPECT_TRUE(StartsWith(lines[0], "JOB ")) << text;
  EXPECT_TRUE(Contains(lines[0], "greatest val_acc  lr ")) << text;
  EXPECT_TRUE(StartsWith(lines[1], "j0000008")) << text;
  EXPECT_TRUE(StartsWith(lines[8], "j0000001")) << text;
  for (const char* part : {"train/a_very", "val/a_very", "0.5 --epochs", "Left out: 1 metric of"}) {
    EXPECT_TRUE(Contains(text, part)) << part << "\n" << text;
  }
  EXPECT_FALSE(Contains(text, "optimizer")) << text;
  EXPECT_TRUE(Contains(ShownTable(8, {true, 80}), "optimizer"));
  EXPECT_TRUE(Contains(ShownTable(8, {true, 80}), "per_second"));
}

TEST(CompareTable, WhereNothingDiffersItSaysSo) {
  const std::vector<Compared> same(4, RunOf(1));
  EXPECT_TRUE(Contains(CompareTable(same, std::nullopt, {}), "They differ in nothing"));
}

Compared RanWith(const std::string& id, int packages) {
  Compared job;
  job.id = id;
  job.ran.emplace();
  job.ran->machine = {{"NVIDIA driver", "550"}};
  for (int i = 0; i < packages; ++i) job.ran->packages["p" + std::to_string(i)] = id;
  job.ran->packages["same"] = "1";
  return job;
}

TEST(CompareTable, OfPackagesADozenIsShownAndTheRestCounted) {
  const std::string text = CompareTable({RanWith("a", 20), RanWith("b", 20)}, {}, {});
  EXPECT_TRUE(Contains(text, "PACKAGES\n  p0")) << text;
  EXPECT_TRUE(Contains(text, "Left out: 8 more packages that differ; --all shows them.")) << text;
  EXPECT_FALSE(Contains(text, "same")) << text;
  EXPECT_FALSE(Contains(text, "driver")) << text;
  CompareLook all;
  all.all = true;
  EXPECT_TRUE(Contains(CompareTable({RanWith("a", 20), RanWith("b", 20)}, {}, all), "same"));
}

TEST(CompareTable, PackagesOfOneOnlyAreNotHeldAgainstNothing) {
  Compared old;
  old.id = "old";
  const std::string text = CompareTable({RanWith("a", 2), old}, {}, {});
  EXPECT_FALSE(Contains(text, "PACKAGES")) << text;
  EXPECT_TRUE(Contains(text, "what old ran with is not known")) << text;
}

}  // namespace
}  // namespace stoker::cli
