// SPDX-License-Identifier: Apache-2.0
// What sacct printed. The samples of 22.05 are as it printed them in the lab, with and without
// accounting of GPUs; those of other versions are made after sacct(1) of that version and Slurm's
// own examples.
#include "provider/slurm/slurm_accounting.h"

#include <gtest/gtest.h>

namespace stoker {
namespace {

CountedRun One(const std::string& text) {
  const auto used = ParseSacct(text);
  EXPECT_TRUE(used.ok()) << used.status().ToString();
  return used.ok() && used->size() == 1 ? used->front() : CountedRun{};
}

TEST(Sacct, AsTheLabPrintsIt) {
  const CountedRun used =
      One("1|COMPLETED|00:00:03|billing=1,cpu=1,gres/gpu:l4=1,gres/gpu=1,node=1|stoker-a.ff\n"
          "1.batch|COMPLETED|00:00:03|cpu=1,gres/gpu:l4=1,gres/gpu=1,mem=0,node=1|batch\n"
          "1.0|COMPLETED|00:00:03|cpu=1,mem=0,node=1|sleep\n");
  EXPECT_EQ(used, (CountedRun{1, "stoker-a.ff", "COMPLETED", Duration::Seconds(3), 1, 1, 1}));
}

TEST(Sacct, AJobThatAccountingHasNotCountedYet) {
  const CountedRun used = One("2|PENDING|00:00:02||allocation\n");
  EXPECT_FALSE(used.nodes || used.cpus || used.gpus);
}

TEST(Sacct, OtherVersionsAndClusters) {
  // Days; memory with a unit; another's name of the state; resources that nobody here knows.
  const CountedRun long_one =
      One("4000000000|CANCELLED by 1000|3-04:05:06|billing=96,cpu=96,energy=4,fs/disk=12,"
          "gres/gpu:a100=8,license/matlab=1,mem=960000M,node=2|stoker-a.ff\n");
  EXPECT_EQ(long_one.elapsed, Duration::Seconds(3 * 86400 + 4 * 3600 + 5 * 60 + 6));
  EXPECT_EQ(long_one.state, "CANCELLED by 1000");
  EXPECT_EQ(long_one.gpus, 8);  // by type alone
  EXPECT_EQ(long_one.nodes, 2);
  // Two types in one allocation, and the sum beside them.
  EXPECT_EQ(One("7|RUNNING|10:00|cpu=4,gres/gpu=3,gres/gpu:a=1,gres/gpu:b=2,node=1|x\n").gpus, 3);
  EXPECT_EQ(One("7|RUNNING|10:00|cpu=4,gres/gpu:a=1,gres/gpu:b=2,node=1|x\n").gpus, 3);
  // Milliseconds, and counts that are shortened.
  const CountedRun old = One("7|TIMEOUT|01:30:00.123|cpu=2K,mem=0,node=1|x\n");
  EXPECT_EQ(old.elapsed, Duration::Minutes(90));
  EXPECT_EQ(old.cpus, 2048);
  EXPECT_FALSE(old.gpus.has_value());
}

TEST(Sacct, WhatIsNotItsAnswerIsAnError) {
  for (const char* text :
       {"1|COMPLETED|00:00:03\n", "one|COMPLETED|00:00:03|cpu=1|x\n", "1|COMPLETED|soon|cpu=1|x\n",
        "1|COMPLETED|-00:03|cpu=1|x\n", "0|COMPLETED|00:03|cpu=1|x\n",
        "1|COMPLETED|00:00:00:03|cpu=1|x\n", "Slurm accounting storage is disabled\n"}) {
    EXPECT_TRUE(ParseSacct(text).status().Is(Code::kCorrupt)) << text;
  }
  EXPECT_TRUE(ParseSacct("").value().empty());
  // What cannot be counted counts as not told.
  EXPECT_FALSE(One("1|COMPLETED|00:03|cpu=many,node=-1,gres/gpu=,=,x|x\n").cpus.has_value());
}

TEST(Sacct, HoursOfAllRuns) {
  const std::vector<CountedRun> used = {
      {1, "", "NODE_FAIL", Duration::Minutes(30), 2, 8, 4},
      {1, "", "COMPLETED", Duration::Minutes(15), 2, 8, 4},
      {2, "", "PENDING", Duration::Minutes(1), {}, {}, {}},
      {3, "", "CANCELLED by 1000", Duration(), {}, {}, {}},
  };
  const CountedHours hours = SumHours(used, true);
  EXPECT_EQ(hours.runs, 3U);
  EXPECT_DOUBLE_EQ(hours.nodes, 1.5);
  EXPECT_DOUBLE_EQ(hours.cpus, 6);
  EXPECT_DOUBLE_EQ(hours.gpus.value_or(-1), 3);
}

TEST(Sacct, GpusThatNobodyCountsAreNotNone) {
  const std::vector<CountedRun> used = {{1, "", "COMPLETED", Duration::Minutes(30), 1, 8, {}}};
  EXPECT_FALSE(SumHours(used, true).gpus.has_value());
  EXPECT_EQ(SumHours(used, false).gpus, 0);
}

TEST(Sacct, AsksForAllRunsOfTheseJobs) {
  const auto words = SacctWords({5, 17});
  EXPECT_EQ(words.back(), "--jobs=5,17");
}

}  // namespace
}  // namespace stoker
