// SPDX-License-Identifier: Apache-2.0
// Saves of which the program says itself when they are whole: by marks, and in $STOKER_SAVES.
#include <gtest/gtest.h>

#include "test/checkpoint/keeper_bench.h"

namespace stoker::test {
namespace {

TEST(KeeperTold, CompleteMarksEndAllDoubt) {
  Bench bench;
  bench.files.Write("step-1/model.bin", StateOf("model", 1));
  bench.files.Write("step-1/.complete", "");
  bench.Run(Duration::Ms(200));
  EXPECT_EQ(bench.keeper->commits(), 1);
  bench.files.Write("step-2/model.bin", StateOf("model", 2));
  bench.Run(Duration::Seconds(30));
  EXPECT_EQ(bench.Restored().count("step-2/model.bin"), 0u);
  bench.files.Write("step-2/.complete", "");
  bench.Run(Duration::Ms(200));
  EXPECT_EQ(bench.Restored().count("step-2/model.bin"), 1u);
}

TEST(KeeperTold, TheDoneMarkCommitsAtOnceAndIsTakenAway) {
  Bench bench;
  bench.files.Write("checkpoint.pt", StateOf("model", 1));
  bench.files.Write(kDoneMark, "");
  bench.Run(Duration::Ms(100));
  EXPECT_EQ(bench.Restored(), (Contents{{"checkpoint.pt", StateOf("model", 1)}}));
  EXPECT_EQ(bench.files.Contents().count(kDoneMark), 0u);
  bench.files.Write("checkpoint.pt", StateOf("model", 2));
  bench.Run(Duration::Seconds(10));  // a program that says when it is done is done when it says so
  EXPECT_EQ(bench.Restored(), (Contents{{"checkpoint.pt", StateOf("model", 1)}}));
}

// A mapping, or a database, is open for as long as the program runs.
TEST(KeeperTold, TheDoneMarkSpeaksForFilesThatStayOpen) {
  Bench bench;
  for (int step = 1; step <= 3; ++step) {
    bench.files.Open("state.db", StateOf("model", step));
    bench.Run(Duration::Seconds(4));
    bench.files.Write(kDoneMark, "");
    bench.Run(Duration::Ms(500));
    EXPECT_EQ(bench.Restored(), (Contents{{"state.db", StateOf("model", step)}}));
    EXPECT_EQ(bench.files.Contents().count(kDoneMark), 0u);
  }
}

TEST(KeeperTold, TheDoneMarkLeavesTheNextStepOut) {
  Bench bench;
  bench.files.Write("step-1/model.pt", StateOf("model", 1));
  bench.files.Open("step-2/model.pt");
  bench.files.Write(kDoneMark, "");
  bench.Run(Duration::Ms(200));
  EXPECT_EQ(bench.Restored(), (Contents{{"step-1/model.pt", StateOf("model", 1)}}));
}

KeeperConfig TellingConfig() {
  KeeperConfig config;
  config.names = {"/work/checkpoints", "checkpoints"};
  return config;
}

// Two files without proof, a pause of any length between them, and no rest at all.
TEST(KeeperTold, ASaveCountsOnceItsEndIsTold) {
  for (const int64_t pause : {20, 3'000, 30'000}) {
    Bench bench(TellingConfig());
    for (int step = 1; step <= 3; ++step) {
      const std::string id = std::to_string(step);
      bench.files.told.push_back("begin " + id + " checkpoints/model.bin");
      bench.files.told.push_back("begin " + id + " \"/work/checkpoints/optim.bin\"");
      bench.files.Write("model.bin", StateOf("model.bin", step));
      bench.Run(Duration::Ms(pause));
      EXPECT_EQ(bench.keeper->commits(), step - 1) << "it goes on";
      bench.files.Write("optim.bin", StateOf("optim.bin", step));
      bench.Run(Duration::Ms(pause));
      EXPECT_EQ(bench.keeper->commits(), step - 1) << "it goes on";
      bench.files.told.push_back("end " + id);
      bench.Run(Duration::Ms(400));
      EXPECT_EQ(bench.keeper->commits(), step) << pause;
      ExpectOneSave(bench.Restored(), {"model.bin", "optim.bin"});
    }
    const auto newest = NewestCheckpoint(bench.store, "job", {});
    EXPECT_EQ(LoadManifest(bench.store, "job", (*newest)->id)->reason, "told");
    EXPECT_EQ(bench.keeper->trouble(), "");
  }
}

// Not even where each file is renamed or proves itself.
TEST(KeeperTold, WhatHasBegunIsNotWholeUntilItsEnd) {
  for (const bool killed : {true, false}) {
    Bench bench(TellingConfig());
    bench.files.told.push_back("begin a");
    bench.files.Write("new", StateOf("model", 1));
    bench.files.Rename("new", "model.bin");
    bench.files.Write("optim.json", R"({"step": 1})");
    bench.Run(Duration::Seconds(90));
    EXPECT_EQ(bench.keeper->commits(), 0);
    EXPECT_NE(bench.keeper->trouble().find("no line 'end a' has come in $STOKER_SAVES"),
              std::string::npos)
        << bench.keeper->trouble();
    if (killed) bench.files.Kill();
    bench.End(0, killed ? 9 : 0);
    EXPECT_EQ(bench.Restored().count("model.bin"), killed ? 0u : 1u);
  }
}

TEST(KeeperTold, AnEndInItsLastMomentCounts) {
  for (const int signal : {0, 9}) {
    Bench bench(TellingConfig());
    bench.files.told.push_back("begin last model.bin");
    bench.files.Write("model.bin", StateOf("model", 7));
    bench.Run(Duration::Ms(40));
    bench.files.told.push_back("end last");
    bench.files.Kill();
    bench.End(1, signal);
    EXPECT_EQ(bench.Restored()["model.bin"], StateOf("model", 7));
  }
}

// With exit code 0, before it was copied; also where something of which nothing is told changed.
TEST(KeeperTold, AGoodEndRightBehindItKeepsAllOfIt) {
  for (const bool other : {false, true}) {
    Bench bench(TellingConfig());
    for (int step = 1; step <= 2; ++step) {
      bench.files.told.push_back("begin s model.bin");
      bench.files.Write("model.bin", StateOf("model", step));
      if (other) bench.files.Write("notes.bin", StateOf("notes", step));
      bench.files.told.push_back("end s");
      if (step == 1) bench.Run(Duration::Seconds(30));
    }
    bench.files.alive = false;
    bench.End(0);
    EXPECT_EQ(bench.Restored()["model.bin"], StateOf("model", 2));
    EXPECT_EQ(bench.Restored().count("notes.bin"), other ? 1u : 0u);
  }
}

// The next one begins, and has written a part, between two looks.
TEST(KeeperTold, WhatBeginsBetweenTwoLooksIsNotTakenForTheOneBefore) {
  for (const int64_t part : {0, 10, 30, 60, 90, 120, 200}) {
    Bench bench(TellingConfig());
    for (int step = 1; step <= 6; ++step) {
      const std::string id = std::to_string(step);
      bench.files.told.push_back("begin " + id);
      bench.files.Write("model.bin", StateOf("model.bin", step));
      bench.Run(Duration::Ms(part), Duration::Ms(10));
      ExpectOneSave(bench.Restored(), {"model.bin", "optim.bin"});
      bench.files.Write("optim.bin", StateOf("optim.bin", step));
      bench.files.told.push_back("end " + id);
      bench.Run(Duration::Ms(step % 2 == 0 ? 10 : 150), Duration::Ms(10));
      ExpectOneSave(bench.Restored(), {"model.bin", "optim.bin"});
    }
    EXPECT_GE(bench.keeper->commits(), 2) << part;
    bench.files.Kill();
    bench.End(0, 9);
    ExpectOneSave(bench.Restored(), {"model.bin", "optim.bin"});
  }
}

// Its successor has begun, and it has not ended.
TEST(KeeperTold, TheNextOneOfARowIsNoProofOfOneThatGoesOn) {
  Bench bench(TellingConfig());
  for (int step = 1; step <= 3; ++step) {
    const std::string folder = "step-" + std::to_string(step);
    bench.files.told.push_back("begin " + folder + " " + folder);
    bench.files.Write(folder + "/rank0.bin", StateOf("rank0", step));
    bench.Run(Duration::Seconds(4));
    if (step == 2) continue;
    bench.files.Write(folder + "/rank1.bin", StateOf("rank1", step));
    bench.files.told.push_back("end " + folder);
    bench.Run(Duration::Seconds(1));
  }
  EXPECT_EQ(bench.Restored().count("step-2/rank0.bin"), 0u);
  EXPECT_EQ(bench.Restored().count("step-3/rank1.bin"), 1u);
}

// One that is never closed holds no other up.
TEST(KeeperTold, OneThatWaitsHoldsNoOtherUp) {
  Bench bench(TellingConfig());
  for (int step = 1; step <= 5; ++step) {
    bench.files.told.insert(bench.files.told.end(), {"begin a held.bin", "end a"});
    bench.files.Open("held.bin", StateOf("held", step));
    bench.Run(Duration::Ms(300));
    bench.files.told.insert(bench.files.told.end(), {"begin b model.bin", "end b"});
    bench.files.Write("model.bin", StateOf("model", step));
    bench.Run(Duration::Ms(400));
    EXPECT_EQ(bench.Restored()["model.bin"], StateOf("model", step));
  }
}

TEST(KeeperTold, AFailedOneDoesNotSpoilTheNext) {
  Bench bench(TellingConfig());
  bench.files.told = {"begin 1 model.bin"};
  bench.files.Open("model.bin");
  bench.Run(Duration::Ms(200));
  bench.files.told = {"failed 1", "begin 2 model.bin"};
  bench.Run(Duration::Ms(200));
  bench.files.Close("model.bin", StateOf("model", 2));
  bench.files.told = {"end 2"};
  bench.Run(Duration::Ms(500));
  EXPECT_EQ(bench.Restored()["model.bin"], StateOf("model", 2));
}

TEST(KeeperTold, AFailedOneDoesNotCount) {
  Bench bench(TellingConfig());
  for (int step = 1; step <= 4; ++step) {
    bench.files.told.push_back("begin s model.bin");
    bench.files.Write("model.bin", StateOf("model.bin", step));
    bench.files.told.push_back(step % 2 == 0 ? "failed s" : "end s");
    bench.Run(Duration::Seconds(30));
    EXPECT_EQ(bench.Restored()["model.bin"], StateOf("model.bin", step - (step + 1) % 2));
  }
}

// One begins while the copy of the one before is waited for.
TEST(KeeperTold, TheNextOneDoesNotMixWithIt) {
  Bench bench(TellingConfig());
  for (int step = 1; step <= 9; ++step) {
    bench.files.told.push_back("begin " + std::to_string(step) + " model.bin");
    bench.files.told.push_back("begin " + std::to_string(step) + " optim.bin");
    bench.files.Write("model.bin", StateOf("model.bin", step));
    if (step % 2 == 0) bench.Run(Duration::Ms(60));
    bench.files.Write("optim.bin", StateOf("optim.bin", step));
    bench.files.told.push_back("end " + std::to_string(step));
    bench.Run(Duration::Ms(step % 3 == 0 ? 20 : 200));
    ExpectOneSave(bench.Restored(), {"model.bin", "optim.bin"});
  }
  bench.files.Kill();
  bench.End(0, 9);
  EXPECT_GE(bench.keeper->commits(), 5);
  ExpectOneSave(bench.Restored(), {"model.bin", "optim.bin"});
}

// What it says nothing of counts by the other rules.
TEST(KeeperTold, OtherFilesDoNotWaitForIt) {
  Bench bench(TellingConfig());
  bench.files.told.push_back("begin 1 model.bin");
  bench.files.Write("model.bin", StateOf("model", 1));
  bench.files.told.push_back("end 1");
  bench.Run(Duration::Ms(500));
  bench.files.Write("table.json", R"({"step": 1})");
  bench.Run(Duration::Seconds(25));
  EXPECT_EQ(bench.Restored().count("table.json"), 1u);
  EXPECT_EQ(bench.Restored()["model.bin"], StateOf("model", 1));
}

TEST(KeeperTold, LinesThatTellNothingAreSaid) {
  KeeperConfig config = TellingConfig();
  std::string said;
  config.say = [&](const std::string& line) { said += line + "\n"; };
  Bench bench(config);
  bench.files.told = {"done",        "end 4",           "begin 5 /elsewhere/model.bin",
                      "end 5",       "begin 6 \"model", "begin 7 gone.bin",
                      "end 7 twice", "end 7",           ""};
  bench.Run(Duration::Seconds(4));
  bench.files.Write("other.bin", StateOf("other", 1));
  bench.Run(Duration::Seconds(1));
  EXPECT_EQ(said,
            "$STOKER_SAVES: 'done' is none of 'begin ID [PATH]', 'end ID', 'failed ID'\n"
            "$STOKER_SAVES: 'end 4' has no 'begin 4' before it\n"
            "$STOKER_SAVES: '/elsewhere/model.bin' of save 5 does not lie in the checkpoint "
            "directory\n"
            "$STOKER_SAVES: '\"model' of save 6 is no JSON string\n"
            "$STOKER_SAVES: 'end 7 twice' is none of 'begin ID [PATH]', 'end ID', 'failed ID'\n"
            "$STOKER_SAVES: save 7 has ended, and there is no 'gone.bin'\n");
}

}  // namespace
}  // namespace stoker::test
