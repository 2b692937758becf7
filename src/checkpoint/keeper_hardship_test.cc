// SPDX-License-Identifier: Apache-2.0
// What the keeper does where it cannot do as usual, and what it says of it.
#include "checkpoint/keeper.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "test/checkpoint/keeper_bench.h"

namespace stoker::test {
namespace {

std::string WholeText(const std::string& what, int step) {
  return what + " of step " + Padded(step, 6) + std::string(200, '.');
}

TEST(KeeperHardship, WithoutRoomForACopyTheFilesThemselvesAreSaved) {
  Bench bench;
  bench.files.no_room = true;
  for (int step = 1; step <= 3; ++step) {
    bench.files.Write("checkpoint.pt", WholeText("model", step));
    bench.Run(Duration::Seconds(21));
    EXPECT_EQ(bench.Restored(), (Contents{{"checkpoint.pt", WholeText("model", step)}}));
    EXPECT_EQ(bench.keeper->trouble(), "");
  }
}

// The upload is slow, and the program writes on: what was sent may be of two moments.
TEST(KeeperHardship, WhatChangedBeforeItWasSavedIsNoCheckpoint) {
  Bench bench;
  bench.files.no_room = true;
  bench.uploads = false;
  bench.files.Write("a.pt", WholeText("a", 1));
  bench.files.Write("b.pt", WholeText("b", 1));
  bench.Run(Duration::Seconds(21));
  bench.files.Write("a.pt", WholeText("a", 2));
  bench.uploads = true;
  bench.Run(Duration::Seconds(1));
  EXPECT_EQ(bench.Restored(), Contents{});
  EXPECT_NE(bench.keeper->trouble().find("'a.pt' changed"), std::string::npos);
  bench.files.Write("b.pt", WholeText("b", 2));
  bench.Run(Duration::Seconds(5));
  EXPECT_EQ(bench.Restored(), (Contents{{"a.pt", WholeText("a", 2)}, {"b.pt", WholeText("b", 2)}}));
  EXPECT_EQ(bench.keeper->trouble(), "");
}

TEST(KeeperHardship, TheDoneMarkStaysUntilTheFilesThemselvesAreSaved) {
  Bench bench;
  bench.files.no_room = true;
  bench.uploads = false;
  bench.files.Write("checkpoint.pt", WholeText("model", 1));
  bench.files.Write(kDoneMark, "");
  bench.Run(Duration::Seconds(4));
  EXPECT_EQ(bench.files.Contents().count(kDoneMark), 1u);
  bench.uploads = true;
  bench.Run(Duration::Seconds(1));
  EXPECT_EQ(bench.files.Contents().count(kDoneMark), 0u);
  EXPECT_EQ(bench.Restored(), (Contents{{"checkpoint.pt", WholeText("model", 1)}}));
  EXPECT_EQ(bench.keeper->commits(), 1);
}

TEST(KeeperHardship, AfterTheEndThereAreAsManyAsAreToBeKept) {
  KeeperConfig config;
  config.keep = 3;
  Bench bench(config);
  for (int step = 1; step <= 4; ++step) {
    bench.files.Write("checkpoint.pt", WholeText("model", step));
    bench.Run(Duration::Seconds(3));
  }
  bench.files.Write("checkpoint.pt", WholeText("model", 5));
  bench.End(0);
  auto all = ListCheckpoints(bench.store, "job");
  ASSERT_TRUE(all.ok());
  EXPECT_EQ(all->size(), 3u);
}

struct Told {
  std::vector<std::string> lines;
  KeeperConfig Config() {
    KeeperConfig config;
    config.say = [this](const std::string& line) { lines.push_back(line); };
    return config;
  }
};

TEST(KeeperHardship, AFileThatIsNeverAtRestIsNamedOnce) {
  Told told;
  Bench bench(told.Config());
  bench.files.Open("state.db");
  bench.Run(Duration::Seconds(40));
  EXPECT_EQ(told.lines.size(), 0u);
  bench.Run(Duration::Seconds(200));
  ASSERT_EQ(told.lines.size(), 1u);
  EXPECT_NE(told.lines[0].find("'state.db' is open"), std::string::npos) << told.lines[0];
  EXPECT_EQ(bench.keeper->trouble(), told.lines[0]);
  bench.files.Close("state.db", WholeText("model", 1));
  bench.Run(Duration::Seconds(21));
  ASSERT_EQ(told.lines.size(), 2u) << Join(told.lines, "\n");
  EXPECT_EQ(told.lines[1], "checkpoints are saved again");
  EXPECT_EQ(bench.keeper->trouble(), "");
  EXPECT_EQ(bench.keeper->commits(), 1);
}

TEST(KeeperHardship, AnotherReasonIsToldToo) {
  Told told;
  Bench bench(told.Config());
  bench.files.take_fails = Status(Code::kUnavailable, "too many open files");
  bench.files.Write("model.pt", WholeText("model", 1));
  bench.Run(Duration::Seconds(90));
  ASSERT_EQ(told.lines.size(), 1u);
  EXPECT_NE(told.lines[0].find("too many open files"), std::string::npos) << told.lines[0];
  bench.files.Open("model.pt");
  bench.Run(Duration::Seconds(30));
  ASSERT_EQ(told.lines.size(), 2u) << Join(told.lines, "\n");
  EXPECT_NE(told.lines[1].find("'model.pt' is open"), std::string::npos) << told.lines[1];
}

// As the Trainer of Hugging Face writes a folder: each file takes a while.
void SaveFolder(Bench& bench, int step, Duration each) {
  const std::string folder = "checkpoint-" + std::to_string(step * 10) + "/";
  for (const std::string name :
       {"config.json", "generation_config.json", "model.safetensors", "training_args.bin",
        "optimizer.pt", "scheduler.pt", "rng_state.pth", "trainer_state.json"}) {
    bench.files.Open(folder + name);
    bench.Run(each);
    bench.files.Close(folder + name, WholeText(name, step));
    bench.Run(Duration::Ms(20));
  }
}

TEST(KeeperHardship, FoldersThatFollowOneAnotherShortlyAreKept) {
  KeeperConfig config;
  config.keep = 0;
  Bench bench(config);
  int missed = 0;  // saves in a row that were not committed before the next one had begun
  int longest = 0;
  int64_t last = 0;
  for (int step = 1; step <= 20; ++step) {
    SaveFolder(bench, step, Duration::Ms(40));
    bench.Run(Duration::Ms(820));
    missed = bench.keeper->commits() > last ? 0 : missed + 1;
    last = bench.keeper->commits();
    longest = std::max(longest, missed);
  }
  EXPECT_GE(bench.keeper->commits(), 18);
  EXPECT_LE(longest, 2);
}

TEST(KeeperHardship, WhoSavesAsUsualIsNotTalkedAbout) {
  Told told;
  Bench bench(told.Config());
  for (int step = 1; step <= 20; ++step) {
    // As torch.save's, it proves itself.
    bench.files.Write("model.json", R"({"step": )" + std::to_string(step) + "}");
    bench.Run(Duration::Seconds(10));
  }
  EXPECT_EQ(told.lines.size(), 0u);
  EXPECT_EQ(bench.keeper->commits(), 20);
}

TEST(KeeperHardship, ADiskThatWasFullTaints) {
  Bench bench;
  bench.files.Write("checkpoint.pt", WholeText("model", 1));
  bench.Run(Duration::Seconds(3));
  bench.files.disk_full = true;
  bench.files.Write("checkpoint.pt", WholeText("torn", 2));
  bench.Run(Duration::Ms(100));
  bench.files.disk_full = false;
  bench.Run(Duration::Seconds(10));
  EXPECT_EQ(bench.Restored(), (Contents{{"checkpoint.pt", WholeText("model", 1)}}));
}

// Seed 12835 of the simulator: a write was refused, then there was room before the file was closed.
TEST(KeeperHardship, ADiskThatWasFullWhenAFileWasBegunTaints) {
  Bench bench;
  bench.files.disk_full = true;
  bench.files.Open("checkpoint.pt");
  bench.files.disk_full = false;
  bench.files.Close("checkpoint.pt", "half");
  bench.Run(Duration::Seconds(10));
  EXPECT_EQ(bench.Restored(), Contents{});
}

// Seed 80849: the disk refused all of one file, of which nothing is heard, and took the other.
TEST(KeeperHardship, WhatWasWrittenSoonAfterADiskWasFullIsDoubted) {
  Bench bench;
  const auto step = [&](int number, bool both) {
    if (both) bench.files.Write("model.pt", WholeText("model", number));
    bench.files.Write("optim.pt", WholeText("optim", number));
    bench.Run(Duration::Seconds(5));
  };
  step(1, true);
  step(2, true);
  bench.files.disk_full = true;
  bench.Run(Duration::Seconds(4));
  bench.files.disk_full = false;
  step(3, false);
  EXPECT_EQ(bench.Restored(),
            (Contents{{"model.pt", WholeText("model", 2)}, {"optim.pt", WholeText("optim", 2)}}));
  bench.Run(Duration::Seconds(10));
  step(4, true);
  EXPECT_EQ(bench.Restored(),
            (Contents{{"model.pt", WholeText("model", 4)}, {"optim.pt", WholeText("optim", 4)}}));
}

TEST(KeeperHardship, ADiskFullAtTheEndStillComesToAnEnd) {
  for (const int writes : {1, 3, 5, 8}) {
    for (const bool late : {false, true}) {
      Bench bench;
      for (int step = 1; step <= writes; ++step) {
        bench.files.Open("checkpoint.pt");
        bench.Run(Duration::Ms(100));
        bench.files.Close("checkpoint.pt", WholeText("model", step));
        bench.Run(Duration::Ms(300));
      }
      bench.files.Open("checkpoint.pt");
      bench.Run(Duration::Ms(50));
      bench.files.disk_full = true;
      bench.files.Close("checkpoint.pt", "half");
      if (late) bench.Run(Duration::Seconds(3));
      bench.End(1);
      EXPECT_TRUE(bench.keeper->Finished()) << writes;
      const Contents restored = bench.Restored();
      if (!restored.empty()) {
        EXPECT_EQ(restored.at("checkpoint.pt").substr(0, 5), "model");
      }
    }
  }
}

TEST(KeeperHardship, WhatSettledWhileTheDiskWasFullForCopiesIsStillTakenAfterTheEnd) {
  Bench bench;
  bench.files.Write("checkpoint.pt", WholeText("model", 1));
  bench.files.take_fails = Status(Code::kNoSpace, "no room for a copy");
  bench.Run(Duration::Seconds(25));
  EXPECT_NE(bench.keeper->trouble(), "");
  bench.files.take_fails = Status::Ok();
  bench.files.Kill();
  bench.End(0, 9);
  EXPECT_EQ(bench.Restored(), (Contents{{"checkpoint.pt", WholeText("model", 1)}}));
}

}  // namespace
}  // namespace stoker::test
