// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/rule/first_save.h"

#include <gtest/gtest.h>

namespace stoker::test {
namespace {

constexpr int64_t kBig = 1'000'000;

std::vector<FileFact> Files(const std::vector<std::pair<std::string, int64_t>>& files) {
  std::vector<FileFact> out;
  for (const auto& [path, size] : files) {
    out.emplace_back().path = path;
    out.back().size = size;
  }
  return out;
}

// "" also where it cannot be judged yet.
std::string Told(const std::vector<std::pair<std::string, int64_t>>& restored,
                 const std::vector<std::pair<std::string, int64_t>>& written,
                 std::optional<bool> read, bool own = true) {
  FirstSave first({"1-8", "train.py", own}, Files(restored));
  return first.Sees(Files(written)) ? first.Verdict(read) : "";
}

TEST(FirstSave, NothingWasRead) {
  const std::string words =
      "began at 0 although checkpoint 1-8 was restored: does train.py load it?";
  EXPECT_EQ(Told({{"last.pt", kBig}}, {{"last.pt", kBig}}, false).find(words), 0u);
  EXPECT_EQ(Told({{"step-800/m.pt", kBig}}, {{"step-100/m.pt", kBig}}, false).find(words), 0u);
  EXPECT_EQ(Told({{"last.pt", kBig}}, {{"last.pt", kBig}}, false, false).find(words), 0u);
}

TEST(FirstSave, ItsStepsBeginAnew) {
  const std::string told =
      Told({{"step-700/m.pt", kBig}, {"step-800/m.pt", kBig}}, {{"step-100/m.pt", kBig}}, true);
  EXPECT_NE(told.find("(the first save is of step 100, what was restored of step 800)"),
            std::string::npos)
      << told;
  EXPECT_NE(Told({{"epoch=1.ckpt", kBig}}, {{"epoch=0.ckpt", kBig}}, std::nullopt), "");
}

TEST(FirstSave, IsSilentWithoutEvidence) {
  const std::vector<std::pair<std::string, int64_t>> last = {{"last.pt", kBig}};
  EXPECT_EQ(Told(last, last, true), "");
  EXPECT_EQ(Told(last, last, std::nullopt), "") << "nobody knows who reads on a network's disk";
  EXPECT_EQ(Told({{"step-800/m.pt", kBig}}, {{"step-900/m.pt", kBig}}, false), "")
      << "it went on, from wherever it knew";
  EXPECT_EQ(Told({{"step-800/m.pt", kBig}}, {{"step-750/m.pt", kBig}}, true), "")
      << "it may have gone back";
  EXPECT_EQ(Told({{"step-800/m.pt", kBig}}, {{"step-100/m.pt", kBig}}, true, false), "")
      << "of another job: its own steps begin at 0";
  EXPECT_EQ(Told({{"epoch_3_step_800.pt", kBig}}, {{"epoch_4_step_50.pt", kBig}}, true), "")
      << "steps of an epoch";
  EXPECT_EQ(Told({{"epoch=0.ckpt", kBig}}, {{"epoch=0.ckpt", kBig}}, true), "");
  EXPECT_EQ(Told({{"best-0.31.pt", kBig}}, {{"best-0.12.pt", kBig}}, true), "")
      << "no step, but a metric";
}

// It skips what is there, and reads none of it.
TEST(FirstSave, WorkThatComesBehindWhatIsThereGoesOn) {
  const std::vector<std::pair<std::string, int64_t>> folds = {
      {"fold0.pt", kBig}, {"fold10.pt", kBig}, {"fold2.pt", kBig}};
  EXPECT_EQ(Told(folds, {{"fold11.pt", kBig}}, false), "");
  EXPECT_NE(Told(folds, {{"fold0.pt", kBig}}, false), "");
  EXPECT_NE(Told(folds, {{"fold3.pt", kBig}}, false), "") << "behind some alone";
}

TEST(FirstSave, WaitsForASaveLikeTheOneThatWasRestored) {
  FirstSave first(
      {"1-8", "train.py", true},
      Files(
          {{"config.json", 300}, {"log.jsonl", 9 * kBig}, {"model.pt", kBig}, {"optim.pt", kBig}}));
  EXPECT_FALSE(first.Sees(Files({{"config.json", 300}})));
  EXPECT_FALSE(first.Sees(Files({{"model.pt", 20}}))) << "a first try, or another thing";
  EXPECT_FALSE(first.Sees(Files({{"model.pt", kBig}, {"other.pt", kBig}})));
  EXPECT_TRUE(first.Sees(Files({{"optim.pt", kBig}})));
  FirstSave nothing({"1-8", "train.py", true}, Files({{"empty", 0}}));
  EXPECT_FALSE(nothing.Sees(Files({{"empty", 10}})));
}

}  // namespace
}  // namespace stoker::test
