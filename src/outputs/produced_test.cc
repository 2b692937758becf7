// SPDX-License-Identifier: Apache-2.0
#include "outputs/produced.h"

#include <gtest/gtest.h>

namespace stoker {
namespace {

FileFact Fact(const std::string& path, int64_t size = 5) {
  FileFact fact;
  fact.path = path;
  fact.ino = 7;
  fact.size = size;
  fact.mtime_ns = 1;
  fact.ctime_ns = 2;
  return fact;
}

TEST(Made, WhateverAChangeLeavesBehindIsSeen) {
  TreeMemory memory;
  memory.Add(Fact("a"));
  memory.Add(Fact("b/c"));
  memory.Seal();
  EXPECT_TRUE(memory.Has(Fact("a")));
  EXPECT_TRUE(memory.Has(Fact("b/c")));
  EXPECT_FALSE(memory.Has(Fact("c")));
  EXPECT_FALSE(memory.Has(Fact("a", 6)));
  FileFact fact = Fact("a");
  fact.ino = 8;
  EXPECT_FALSE(memory.Has(fact)) << "another file under the name";
  fact = Fact("a");
  fact.mtime_ns = 3;
  EXPECT_FALSE(memory.Has(fact)) << "written";
  fact = Fact("a");
  fact.ctime_ns = 3;
  EXPECT_FALSE(memory.Has(fact)) << "written, and its time set back";
  fact = Fact("a");
  fact.kind = FileKind::kLink;
  EXPECT_FALSE(memory.Has(fact));
}

using Files = std::vector<std::pair<std::string, int64_t>>;

ProducedChoice ChoiceOf(ProducedBounds bounds, const Files& files) {
  ProducedTally tally(bounds);
  for (const auto& [path, bytes] : files) tally.Add(path, bytes);
  if (tally.Again()) {
    for (const auto& [path, bytes] : files) tally.Add(path, bytes);
  }
  EXPECT_FALSE(tally.Again());
  return tally.Choose();
}

std::vector<std::string> Kept(const ProducedChoice& choice) {
  std::vector<std::string> paths;
  for (const auto& [path, bytes] : choice.keep) paths.push_back(path);
  return paths;
}

using Paths = std::vector<std::string>;

TEST(Made, WhatFitsIsKeptWhole) {
  const ProducedChoice choice = ChoiceOf({100, 3}, {{"a", 50}, {"b/c", 49}, {"b/d", 1}});
  EXPECT_EQ(Kept(choice), (Paths{"a", "b/c", "b/d"}));
  EXPECT_EQ(choice.kept_bytes, 100);
  EXPECT_TRUE(choice.left_out.empty());
  EXPECT_TRUE(ChoiceOf({100, 3}, {}).keep.empty());
}

TEST(Made, TheLargestFilesAreLeftOutFirst) {
  const ProducedChoice choice = ChoiceOf({100, 9}, {{"m", 90}, {"l", 20}, {"b/c", 70}, {"s", 1}});
  EXPECT_EQ(Kept(choice), (Paths{"b/c", "l", "s"}));
  ASSERT_EQ(choice.left_out.size(), 1u);
  EXPECT_EQ(choice.left_out[0].path, "m");
  EXPECT_FALSE(choice.left_out[0].folder);
  EXPECT_EQ(choice.left_out[0].bytes, 90);
  EXPECT_EQ(choice.files, 4);
  EXPECT_EQ(choice.bytes, 181);
}

TEST(Made, OfTheKindOfMostFilesAsManyAsFit) {
  Files files = {{"model.pt", 9}, {"r/log", 1}, {"r/deep/x", 1}};
  for (int i = 10; i < 60; ++i) files.push_back({"r/cache/" + std::to_string(i), 1});
  const ProducedChoice choice = ChoiceOf({1000, 6}, files);
  EXPECT_EQ(Kept(choice),
            (Paths{"model.pt", "r/cache/10", "r/cache/11", "r/cache/12", "r/deep/x", "r/log"}));
  ASSERT_EQ(choice.left_out.size(), 1u);
  EXPECT_EQ(choice.left_out[0].path, "r/cache");
  EXPECT_TRUE(choice.left_out[0].folder);
  EXPECT_EQ(choice.left_out[0].files, 47);
  EXPECT_EQ(choice.left_out[0].of, 50);
  EXPECT_EQ(choice.left_out[0].bytes, 47);
}

// The model lies in the folder that has too many files, among them.
TEST(Made, WhatIsOneOfAKindStaysWhateverLiesBesideIt) {
  Files files;
  for (int i = 100; i < 200; ++i) {
    files.push_back({"frame-" + std::to_string(i) + ".png", 1});
    files.push_back({"cache/" + std::to_string(i) + "deadbeef", 1});
  }
  files.insert(files.begin() + 50, {{"model.pt", 5}, {"metrics.json", 5}, {"cache/index.db", 5}});
  EXPECT_EQ(Kept(ChoiceOf({1000, 3}, files)),
            (Paths{"cache/index.db", "metrics.json", "model.pt"}));
  const ProducedChoice choice = ChoiceOf({1000, 150}, files);
  EXPECT_EQ(choice.keep.size(), 150u);
  ASSERT_EQ(choice.left_out.size(), 1u) << "one of the two fits whole";
  EXPECT_EQ(choice.left_out[0].files, 53);
  EXPECT_EQ(choice.keep.count("model.pt") + choice.keep.count("cache/index.db"), 2u);
}

TEST(Made, BothBoundsHoldTogether) {
  Files files = {{"big", 500}, {"small", 1}};
  for (int i = 0; i < 20; ++i) files.push_back({"many/" + std::to_string(i), 1000});
  const ProducedChoice choice = ChoiceOf({100, 10}, files);
  EXPECT_EQ(Kept(choice), (Paths{"small"}));
  EXPECT_EQ(choice.left_out.size(), 10u) << "12 of many/, the 8 others for their size, and big";
  EXPECT_TRUE(ChoiceOf({100, 0}, files).keep.empty());
  EXPECT_TRUE(ChoiceOf({0, 10}, {{"a", 1}}).keep.empty());
}

TEST(Made, MoreKindsThanAreToldApartAreNamedTogether) {
  ProducedTally tally({1 << 30, 100});
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 60'000; ++i) tally.Add("d" + std::to_string(i) + "/f", 1);
    if (round == 0) {
      EXPECT_TRUE(tally.Again());
    }
  }
  const ProducedChoice choice = tally.Choose();
  EXPECT_EQ(choice.keep.size(), 100u);
  int64_t left = 0;
  for (const ProducedGroup& group : choice.left_out) left += group.files;
  EXPECT_EQ(left + 100, 60'000);
}

}  // namespace
}  // namespace stoker
