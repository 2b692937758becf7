// SPDX-License-Identifier: Apache-2.0
#include "node/metrics/run_names.h"

#include <gtest/gtest.h>

namespace stoker::node {
namespace {

const std::string kEvents = "tensorboard";

std::string Prefix(RunNames& names, const std::string& folder, int64_t begun,
                   const std::string& kind = kEvents) {
  return names.Find(kind, folder, WallTime{begun}).prefix;
}

void Write(RunNames& names, const std::string& folder, int64_t ms) {
  names.Find(kEvents, folder, {}).run->written = WallTime{ms};
}

RunNames After(const RunNames& before, int attempt) {
  RunNames names(attempt, "box");
  names.set_runs(before.runs());
  return names;
}

TEST(RunNames, TheFirstHasNoNameOthersWhatSetsThemApart) {
  RunNames names(1, "box");
  EXPECT_EQ(Prefix(names, "logs/fold_0/version_0", 1), "");
  EXPECT_EQ(Prefix(names, "logs/fold_1/version_0", 2), "fold_1/");
  EXPECT_EQ(Prefix(names, "logs/fold_2/version_0", 3), "fold_2/");
  EXPECT_EQ(Prefix(names, "logs/fold_0/version_0", 4), "");
  EXPECT_EQ(Prefix(names, "logs", 5), "logs/");
  EXPECT_EQ(Prefix(names, "a/fold_1", 5), "a/fold_1/");
  // Tables by themselves.
  EXPECT_EQ(Prefix(names, "a", 1, "csv"), "");
  EXPECT_EQ(Prefix(names, "b", 1, "csv"), "b/");
  EXPECT_EQ(Prefix(names, "b", 1, "jsonl"), "");
}

TEST(RunNames, TrainAndValAreOfOneRun) {
  RunNames names(1, "box");
  EXPECT_EQ(Prefix(names, "r1/train", 1), "");
  EXPECT_EQ(Prefix(names, "r1/validation", 1), "validation/");
  EXPECT_EQ(Prefix(names, "r2/train", 2), "r2/");
  EXPECT_EQ(Prefix(names, "r2/validation", 2), "r2/validation/");
  EXPECT_EQ(SourceOf(*names.Find(kEvents, "r2/validation", {}).run), "tensorboard:r2");
  // Where training has a folder without that name, too, two folders stay two.
  EXPECT_EQ(Prefix(names, "r2", 3), "r2/");
  EXPECT_EQ(Prefix(names, "r3", 3), "r3/");
  EXPECT_EQ(Prefix(names, "r3/train", 3), "r3/train/");
}

TEST(RunNames, AFolderWithinARunHasItsPathThere) {
  RunNames names(1, "box");
  EXPECT_EQ(Prefix(names, "logs", 1), "");
  EXPECT_EQ(Prefix(names, "logs/both_a", 1), "both_a/");
  EXPECT_EQ(Prefix(names, "logs/1732449123.4", 1), "");
  EXPECT_EQ(Prefix(names, "logs/both_a/1732449123.4", 1), "both_a/");
  EXPECT_EQ(names.runs().size(), 2U);
}

TEST(RunNames, ALaterAttemptGoesOnWithTheRunOfTheSamePathOrShape) {
  RunNames first(1, "box");
  EXPECT_EQ(Prefix(first, "runs/Nov27_23-39-18_box", 1), "");
  Write(first, "runs/Nov27_23-39-18_box", 500);
  RunNames second = After(first, 2);
  EXPECT_EQ(Prefix(second, "runs/Nov27_23-59-18_box", 1000), "");
  EXPECT_EQ(Prefix(second, "runs/Nov27_23-59-20_box", 2000), "Nov27_23-59-20_box/");
  Write(second, "runs/Nov27_23-59-18_box", 1500);
  Write(second, "runs/Nov27_23-59-20_box", 2500);
  RunNames third = After(second, 3);
  // The first had ended before the second was begun: nobody knows which of them this is.
  EXPECT_EQ(Prefix(third, "runs/Nov28_00-10-00_box", 3000), "Nov28_00-10-00_box/");
  EXPECT_EQ(Prefix(third, "runs/Nov28_00-20-00_box", 4000), "Nov27_23-59-20_box/");
  // One of the same path is the same, ended or not.
  EXPECT_EQ(Prefix(third, "runs/Nov27_23-59-18_box", 3000), "");
}

TEST(RunNames, RunsBesideEachOtherGoOnByTheirNumber) {
  RunNames first(1, "box");
  for (const std::string folder : {"logs/version_0", "logs/version_1"}) {
    Prefix(first, folder, 1);
    Write(first, folder, 900);
  }
  RunNames second = After(first, 2);
  EXPECT_EQ(Prefix(second, "logs/version_2", 1000), "");
  Write(second, "logs/version_2", 1100);
  // It ended before its second was begun.
  RunNames third = After(second, 3);
  EXPECT_EQ(Prefix(third, "logs/version_3", 2000), "");
  EXPECT_EQ(Prefix(third, "logs/version_4", 2000), "version_1/");
  EXPECT_EQ(Prefix(third, "logs/version_5", 2000), "version_5/");
}

TEST(RunNames, AnotherFoldIsAnotherRun) {
  RunNames first(1, "box");
  EXPECT_EQ(Prefix(first, "fold_0/version_0", 1), "");
  Write(first, "fold_0/version_0", 500);
  RunNames second = After(first, 2);
  EXPECT_EQ(Prefix(second, "fold_1/version_0", 1000), "fold_1/");
  EXPECT_EQ(Prefix(second, "fold_0/version_1", 1000), "");
}

TEST(RunNames, AnotherAgentOfTheAttemptKnowsThem) {
  RunNames first(1, "box");
  Prefix(first, "a/train", 1);
  Prefix(first, "b/val", 2);
  RunNames again(1, "box");
  again.set_runs(first.runs());
  EXPECT_EQ(Prefix(again, "b/val", 3), "b/val/");
  EXPECT_EQ(Prefix(again, "a/train", 3), "");
  EXPECT_EQ(again.runs().size(), 2U);
}

}  // namespace
}  // namespace stoker::node
