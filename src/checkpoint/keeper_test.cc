// SPDX-License-Identifier: Apache-2.0
// The rules of docs/checkpoints.md, one by one.
#include "checkpoint/keeper.h"

#include <gtest/gtest.h>

#include "test/checkpoint/keeper_bench.h"

namespace stoker::test {
namespace {

// As long as the one before it: sizes say nothing.
std::string Whole(const std::string& what, int step) {
  return what + " of step " + Padded(step, 6) + std::string(200, '.');
}

TEST(Keeper, CommitsWhatHasBeenQuiet) {
  Bench bench;
  bench.files.Write("checkpoint.pt", Whole("model", 1));
  bench.Run(Duration::Seconds(19));
  EXPECT_EQ(bench.keeper->newest(), "") << "there may be more that belongs to this first save";
  bench.Run(Duration::Ms(1500));
  EXPECT_EQ(bench.keeper->newest(), "1-1");
  EXPECT_EQ(bench.Restored(), (Contents{{"checkpoint.pt", Whole("model", 1)}}));
  bench.files.Write("checkpoint.pt", Whole("model", 2));
  bench.Run(Duration::Ms(1500));
  EXPECT_EQ(bench.keeper->newest(), "1-1");
  bench.Run(Duration::Ms(1000));
  EXPECT_EQ(bench.keeper->newest(), "1-2");
  EXPECT_EQ(bench.keeper->trouble(), "");
}

TEST(Keeper, AnOpenFileIsNeverCommitted) {
  Bench bench;
  bench.files.Open("checkpoint.pt");
  bench.Run(Duration::Seconds(60));
  EXPECT_EQ(bench.keeper->commits(), 0);
}

TEST(Keeper, AKilledWriterLeavesNothingNew) {
  Bench bench;
  bench.files.Write("checkpoint.pt", Whole("model", 1));
  bench.Run(Duration::Seconds(3));
  bench.files.Open("checkpoint.pt");
  bench.Run(Duration::Ms(300));
  bench.files.Kill();
  bench.End(0, 9);
  EXPECT_TRUE(bench.keeper->Finished());
  EXPECT_EQ(bench.Restored(), (Contents{{"checkpoint.pt", Whole("model", 1)}}));
}

TEST(Keeper, AKilledWriterIsSeenEvenWhenTheEndIsToldLate) {
  Bench bench;
  bench.files.Write("checkpoint.pt", Whole("model", 1));
  bench.Run(Duration::Seconds(3));
  bench.files.Open("checkpoint.pt");
  bench.Run(Duration::Ms(300));
  bench.files.Kill();
  bench.Run(Duration::Seconds(20));  // nobody has told the keeper yet
  EXPECT_EQ(bench.Restored(), (Contents{{"checkpoint.pt", Whole("model", 1)}}));
}

// Three writes over the same file by a mapping, each of the same length; the last one is half done.
void MapThreeTimes(Bench& bench) {
  for (int step = 1; step <= 3; ++step) {
    bench.files.Open("checkpoint.pt", Whole("torn!", step));
    bench.Run(Duration::Ms(100));
    if (step < 3) bench.files.Close("checkpoint.pt", Whole("model", step));
    bench.Run(Duration::Ms(100));
  }
}

TEST(Keeper, AMappingThatEndsWithItsProgramIsNoCheckpoint) {
  for (const Fate fate : {Fate::kLikely, Fate::kUnknown, Fate::kKilled}) {
    Bench bench;
    MapThreeTimes(bench);
    bench.files.Kill(fate);
    bench.End(0, 9);
    EXPECT_TRUE(bench.keeper->Finished());
    const Contents restored = bench.Restored();
    if (!restored.empty()) {
      EXPECT_EQ(restored.at("checkpoint.pt").substr(0, 5), "model");
    }
  }
}

TEST(Keeper, ABoundaryThatStoodOnAKilledWriterIsForgotten) {
  Bench bench;
  MapThreeTimes(bench);
  bench.files.take_fails = Status(Code::kBusy, "wanted");
  bench.files.CloseAll(Fate::kLikely);  // its parent goes on, for a moment
  bench.Run(Duration::Ms(200));
  bench.files.take_fails = Status::Ok();
  bench.files.Kill();
  bench.End(137);
  EXPECT_TRUE(bench.keeper->Finished());
  const Contents restored = bench.Restored();
  if (!restored.empty()) {
    EXPECT_EQ(restored.at("checkpoint.pt").substr(0, 5), "model");
  }
}

TEST(Keeper, StepsOfAScriptThatEndAtOnceAreTrustedWhileItGoesOn) {
  Bench bench;
  for (int step = 1; step <= 6; ++step) {
    bench.files.Open("checkpoint.pt", Whole("torn!", step));
    bench.Run(Duration::Ms(100));
    bench.files.Open("checkpoint.pt", Whole("model", step));
    bench.files.CloseAll(Fate::kLikely);
    bench.Run(Duration::Ms(600));
  }
  EXPECT_GE(bench.keeper->commits(), 3);
  EXPECT_EQ(bench.Restored(), (Contents{{"checkpoint.pt", Whole("model", 5)}}));
  bench.Run(Duration::Seconds(2));
  EXPECT_EQ(bench.Restored(), (Contents{{"checkpoint.pt", Whole("model", 6)}}));
}

TEST(Keeper, ACleanEndSettlesEverything) {
  Bench bench;
  bench.files.Write("checkpoint.pt", Whole("model", 1));
  bench.Run(Duration::Ms(100));
  bench.End(0);
  EXPECT_TRUE(bench.keeper->Finished());
  EXPECT_EQ(bench.Restored(), (Contents{{"checkpoint.pt", Whole("model", 1)}}));
}

TEST(Keeper, WhatACleanEndLeavesCountsAlsoIfNoHintOfItHasCome) {
  Bench bench;
  bench.files.CloseUnheard("checkpoint.pt", Whole("model", 1));
  bench.End(0);
  EXPECT_EQ(bench.Restored(), (Contents{{"checkpoint.pt", Whole("model", 1)}}));
  Bench held;
  held.files.Open("checkpoint.pt");
  held.End(0);
  EXPECT_EQ(held.Restored(), Contents()) << "something that it left behind writes it";
}

TEST(Keeper, ACleanEndAfterASignalProvesNothingByItself) {
  Bench bench;
  bench.files.Write("a.pt", Whole("a", 1));
  bench.files.Write("b.pt", Whole("b", 1));
  bench.Run(Duration::Seconds(3));
  bench.files.Write("a.pt", Whole("a", 2));
  bench.End(0, 0, true);
  EXPECT_EQ(bench.Restored(), (Contents{{"a.pt", Whole("a", 1)}, {"b.pt", Whole("b", 1)}}));
}

TEST(Keeper, FilesThatChangeTogetherAreCommittedTogether) {
  Bench bench;
  for (int step = 1; step <= 3; ++step) {
    bench.files.Write("model.pt", Whole("model", step));
    bench.Run(Duration::Seconds(1));
    bench.files.Write("optim.pt", Whole("optim", step));
    bench.Run(Duration::Seconds(6));
  }
  bench.files.Write("model.pt", Whole("model", 4));
  bench.Run(Duration::Seconds(10));  // far longer than quiet, but its sister is missing
  const Contents third = {{"model.pt", Whole("model", 3)}, {"optim.pt", Whole("optim", 3)}};
  EXPECT_EQ(bench.Restored(), third);
  bench.files.Kill();
  bench.End(1);
  EXPECT_EQ(bench.Restored(), third);
}

TEST(Keeper, FilesNamedByTheirTimeAreARow) {
  Bench bench;
  for (int minute = 10; minute <= 15; ++minute) {
    bench.files.Write("ckpt_20261128_10" + std::to_string(minute) + "00.pt", Whole("a", minute));
    bench.Run(Duration::Seconds(4));
  }
  EXPECT_GE(bench.keeper->commits(), 5);
}

TEST(Keeper, ASisterThatNeverComesAgainDoesNotHoldUpForEver) {
  Bench bench;
  for (int step = 1; step <= 3; ++step) {
    bench.files.Write("last.pt", Whole("last", step));
    bench.files.Write("best.pt", Whole("best", step));
    bench.Run(Duration::Seconds(6));
  }
  bench.files.Write("last.pt", Whole("last", 4));
  bench.Run(Duration::Seconds(30));
  EXPECT_EQ(bench.Restored()["last.pt"], Whole("last", 4));
  EXPECT_EQ(bench.Restored()["best.pt"], Whole("best", 3));
}

TEST(Keeper, RestlessWritersAreCommittedAtTheirBoundaries) {
  Bench bench;
  for (int step = 1; step <= 8; ++step) {
    bench.files.Open("checkpoint.pt");
    bench.Run(Duration::Ms(100));
    bench.files.Close("checkpoint.pt", Whole("model", step));
    bench.Run(Duration::Ms(400));
  }
  EXPECT_GE(bench.keeper->commits(), 4);
  EXPECT_EQ(bench.Restored(), (Contents{{"checkpoint.pt", Whole("model", 7)}})) << "by the next";
  bench.Run(Duration::Seconds(2));
  EXPECT_EQ(bench.Restored(), (Contents{{"checkpoint.pt", Whole("model", 8)}}));
}

TEST(Keeper, AFileWrittenInSeveralGoesIsNotTakenBetweenThem) {
  Bench bench;
  for (int step = 1; step <= 8; ++step) {
    for (int part = 1; part <= 3; ++part) {
      bench.files.Open("checkpoint.pt");
      bench.Run(Duration::Ms(40));
      const std::string bytes = part == 3 ? Whole("model", step) : Whole("torn!", step);
      bench.files.Close("checkpoint.pt", bytes);
      bench.Run(Duration::Ms(20));
      const Contents seen = bench.Restored();
      if (!seen.empty()) {
        EXPECT_EQ(seen.at("checkpoint.pt").substr(0, 5), "model");
      }
    }
    bench.Run(Duration::Ms(900));
  }
  EXPECT_GE(bench.keeper->commits(), 2);
}

// Seed 191946: the same bytes once more would have been the checkpoint to fall back on.
TEST(Keeper, AFileThatWasOnlyTouchedIsNoCheckpoint) {
  Bench bench;
  for (int time = 0; time < 3; ++time) {
    bench.files.Write("checkpoint.pt", Whole("model", 1));
    bench.Run(Duration::Seconds(5));
  }
  EXPECT_EQ(bench.keeper->commits(), 1);
  bench.files.Write("checkpoint.pt", Whole("model", 2));
  bench.Run(Duration::Seconds(5));
  EXPECT_EQ(bench.keeper->commits(), 2);
}

TEST(Keeper, ASaveThatIsSmallerThanTheOneBeforeIsKept) {
  Bench bench;
  bench.files.Write("checkpoint.pt", std::string(100'000, 'a'));
  bench.Run(Duration::Seconds(3));
  bench.files.Write("checkpoint.pt", std::string(60'000, 'b'));
  bench.Run(Duration::Seconds(3));
  EXPECT_EQ(bench.Restored()["checkpoint.pt"].size(), 60'000u);
}

TEST(Keeper, JsonAfterACrashIsTrustedWhenItIsWhole) {
  Bench bench;
  bench.files.Write("state.json", "{\"step\": 1}");
  bench.Run(Duration::Seconds(3));
  bench.files.Write("state.json", "{\"step\": 2}");
  bench.files.Kill();
  bench.End(1);
  EXPECT_EQ(bench.Restored(), (Contents{{"state.json", "{\"step\": 2}"}}));
}

TEST(Keeper, TheNextFolderShowsThatTheOneBeforeIsComplete) {
  Bench bench;
  for (int step = 1; step <= 5; ++step) {
    const std::string unit = "step-" + std::to_string(step * 100);
    for (const char* name : {"/model.bin", "/optim.bin"}) {
      bench.files.Open(unit + name);
      bench.Run(Duration::Ms(300));
      bench.files.Close(unit + name, Whole(name, step));
    }
    bench.files.Write("latest", unit);
    bench.Run(Duration::Ms(60));
  }
  bench.files.Open("step-600/model.bin");
  bench.Run(Duration::Ms(800));
  const Contents seen = bench.Restored();
  EXPECT_EQ(seen.at("latest"), "step-500");
  EXPECT_EQ(seen.count("step-500/optim.bin"), 1u);
  EXPECT_EQ(seen.count("step-600/model.bin"), 0u);
}

// Three shards and their index: in the first save nothing tells shards from steps but the time.
void WriteShards(Bench& bench, int step) {
  for (int shard = 1; shard <= 3; ++shard) {
    const std::string name = "model-0000" + std::to_string(shard) + "-of-00003.safetensors";
    bench.files.Open(name);
    bench.Run(Duration::Ms(40));
    bench.files.Close(name, Whole("shard", step));
  }
  bench.files.Open("index.json");
  bench.Run(Duration::Ms(400));
}

TEST(Keeper, ShardsOfAFirstSaveAreNoSteps) {
  Bench bench;
  WriteShards(bench, 1);
  EXPECT_EQ(bench.keeper->commits(), 0);
  bench.files.Close("index.json", "{\"step\": 1}");
  bench.Run(Duration::Seconds(21));
  EXPECT_EQ(bench.keeper->commits(), 1);
  EXPECT_EQ(bench.Restored().size(), 4u);
}

TEST(Keeper, ShardsOfAFirstSaveThatACrashCutsShortAreNoSteps) {
  for (const bool at_the_index : {true, false}) {
    Bench bench;
    WriteShards(bench, 1);
    if (!at_the_index) {
      ASSERT_TRUE(bench.files.Remove("index.json").ok());
    }
    bench.files.Kill();
    bench.End(0, 9);
    EXPECT_EQ(bench.Restored(), Contents{});
  }
}

// The first file of a new folder may be written before the folder is watched: only a scan shows
// that it is whole, when the others have long been written.
TEST(Keeper, FoldersWhoseFirstFileIsNoticedLateAreStillRounds) {
  Bench bench;
  for (int step = 1; step <= 8; ++step) {
    const std::string unit = "step-" + std::to_string(step);
    bench.files.Open(unit + "/model.bin");
    if (step <= 2) {
      bench.files.CloseUnheard(unit + "/model.bin", Whole("model", step));
    } else {
      bench.files.Close(unit + "/model.bin", Whole("model", step));
    }
    bench.Run(Duration::Ms(20));
    bench.files.Write(unit + "/optim.bin", Whole("optim", step));
    bench.Run(Duration::Ms(20));
    bench.files.Write("latest", unit);
    bench.Run(Duration::Ms(400));
  }
  EXPECT_GE(bench.keeper->commits(), 4);
  EXPECT_EQ(bench.Restored().at("latest"), "step-7") << "by the next";
}

TEST(Keeper, APointerNeverNamesWhatIsNotThere) {
  Bench bench;
  bench.files.Write("step-1/model.bin", Whole("model", 1));
  bench.files.Write("latest", "step-1");
  bench.Run(Duration::Seconds(21));
  bench.files.Write("latest", "step-2");  // before the folder that it names
  bench.Run(Duration::Seconds(10));
  EXPECT_EQ(bench.Restored()["latest"], "step-1");
  bench.files.Write("step-2/model.bin", Whole("model", 2));
  bench.Run(Duration::Seconds(21));
  EXPECT_EQ(bench.Restored()["latest"], "step-2");
}

TEST(Keeper, APointerToNothingDoesNotHoldUpTheEnd) {
  for (const int code : {0, 1}) {
    Bench bench;
    bench.files.Write("step-1/model.bin", Whole("model", 1));
    bench.files.Write("latest", "step-1");
    bench.Run(Duration::Seconds(21));
    bench.files.Write("latest", "step-2");
    bench.Run(Duration::Seconds(3));
    bench.End(code);
    EXPECT_TRUE(bench.keeper->Finished()) << code;
    EXPECT_EQ(bench.Restored()["latest"], "step-1");
  }
}

TEST(Keeper, ARenameIsABoundary) {
  Bench bench;
  for (int step = 1; step <= 6; ++step) {
    bench.files.Open("checkpoint.pt.tmp");
    bench.Run(Duration::Ms(150));
    bench.files.Close("checkpoint.pt.tmp", Whole("model", step));
    bench.files.Rename("checkpoint.pt.tmp", "checkpoint.pt");
    bench.Run(Duration::Ms(300));
  }
  EXPECT_EQ(bench.Restored(), (Contents{{"checkpoint.pt", Whole("model", 6)}}));
  bench.files.Open("checkpoint.pt.tmp");
  bench.Run(Duration::Ms(150));
  bench.files.Kill();
  bench.End(0, 9);
  EXPECT_EQ(bench.Restored(), (Contents{{"checkpoint.pt", Whole("model", 6)}}));
}

// What it wrote in place and was not done with tells nothing; nor does what a signal ended.
TEST(Keeper, AWriteInPlaceOfWhoEndsAsItWasToldDoesNot) {
  for (const int signal : {0, 9}) {
    Bench bench;
    for (int step = 1; step <= 4; ++step) {
      bench.files.Write("new", Whole("model", step));
      bench.files.Rename("new", "step-" + std::to_string(step));
      bench.Run(Duration::Seconds(3));
    }
    bench.files.Open("new", "torn");
    bench.files.Kill();
    bench.files.Rename("new", signal != 0 ? "step-5" : "new.bak", Fate::kKilled);
    bench.files.Open("step-6", "torn");
    bench.files.Kill();
    bench.End(signal != 0 ? 0 : 143, signal, true);
    EXPECT_EQ(bench.Restored().count("step-5"), 0u);
    EXPECT_EQ(bench.Restored().count("step-6"), 0u);
  }
}

TEST(Keeper, AFolderThatIsRenamedIntoPlace) {
  Bench bench;
  for (int step = 1; step <= 3; ++step) {
    const std::string number = std::to_string(step);
    bench.files.Write("tmp-checkpoint-" + number + "/model.bin", Whole("model", step));
    bench.files.Rename("tmp-checkpoint-" + number, "checkpoint-" + number);
    bench.Run(Duration::Seconds(3));
    const Contents seen = bench.Restored();
    EXPECT_EQ(seen.count("checkpoint-" + number + "/model.bin"), 1u) << number;
    EXPECT_EQ(seen.count("tmp-checkpoint-" + number + "/model.bin"), 0u) << number;
  }
}

TEST(Keeper, AFolderThatTakesThePlaceOfTheOneBefore) {
  Bench bench;
  const auto write = [&](int step) {
    for (const std::string part : {"model", "optim"}) {
      bench.files.Write("new/" + part, Whole(part, step));
      bench.Run(Duration::Ms(20));
    }
  };
  for (int step = 1; step <= 8; ++step) {
    write(step);
    if (step > 1) bench.files.Rename("cur", "old");
    bench.files.Rename("new", "cur");
    for (const std::string part : {"model", "optim"}) bench.files.Delete("old/" + part);
    bench.Run(Duration::Seconds(1));
  }
  const Contents whole = {{"cur/model", Whole("model", 8)}, {"cur/optim", Whole("optim", 8)}};
  EXPECT_GE(bench.keeper->commits(), 4);
  EXPECT_EQ(bench.Restored(), whole);
  write(9);
  bench.files.Rename("cur", "old");
  bench.Run(Duration::Ms(300));
  EXPECT_EQ(bench.Restored(), whole);
  bench.files.Kill();
  bench.End(0, 9);
  EXPECT_EQ(bench.Restored(), whole);
}

// A database keeps its file open; its journal comes, goes, and is nothing without it.
TEST(Keeper, AFileThatIsHeldOpenAndChangesIsNotLeftOut) {
  Bench bench;
  for (int step = 1; step <= 60; ++step) {
    bench.files.Write("s.db-journal", Whole("journal", step));
    bench.files.Open("s.db", Whole("model", step));
    bench.Run(Duration::Ms(50));
    bench.files.Delete("s.db-journal");
    bench.Run(Duration::Ms(950));
  }
  EXPECT_EQ(bench.keeper->commits(), 0);
}

TEST(Keeper, LogsInTheFolderDoNotDisturb) {
  Bench bench;
  bench.files.Open("events.out.tfevents.1.host");
  bench.files.Write("checkpoint.pt", Whole("model", 1));
  bench.Run(Duration::Seconds(21));
  EXPECT_EQ(bench.Restored().at("checkpoint.pt"), Whole("model", 1));
}

TEST(Keeper, ADeletedUnitIsDroppedAndAnEmptyFolderIsNoCheckpoint) {
  Bench bench;
  bench.files.Write("checkpoint.pt", Whole("model", 1));
  bench.Run(Duration::Seconds(21));
  bench.files.Delete("checkpoint.pt");
  bench.Run(Duration::Seconds(30));
  bench.End(0);
  EXPECT_EQ(bench.Restored(), (Contents{{"checkpoint.pt", Whole("model", 1)}}));
}

TEST(Keeper, UnchangedFilesAreReferencedNotUploadedAgain) {
  Bench bench;
  bench.files.Write("tokenizer.json", "{\"words\": 3}");
  bench.files.Write("model.pt", Whole("model", 1));
  bench.Run(Duration::Seconds(3));
  bench.files.Write("model.pt", Whole("model", 2));
  bench.Run(Duration::Seconds(30));
  auto manifest = LoadManifest(bench.store, "job", bench.keeper->newest());
  ASSERT_TRUE(manifest.ok());
  for (const ManifestFile& file : manifest->parts.front().files) {
    const std::string where = file.path == "model.pt" ? "data/1-0-2/" : "data/1-0-1/";
    EXPECT_EQ(file.object, where + file.path);
  }
}

TEST(Keeper, KeepsTheNewestAndClearsTheRest) {
  Bench bench;
  for (int step = 1; step <= 6; ++step) {
    bench.files.Write("checkpoint.pt", Whole("model", step));
    bench.Run(Duration::Seconds(4));
  }
  auto all = ListCheckpoints(bench.store, "job");
  ASSERT_TRUE(all.ok());
  ASSERT_EQ(all->size(), 3u);
  EXPECT_EQ((*all)[0].id, "1-6");
  int objects = 0;
  EXPECT_TRUE(ListAll(bench.store, "jobs/job/checkpoints/data/", [&](const ObjectInfo&) {
                ++objects;
                return Status::Ok();
              }).ok());
  EXPECT_EQ(objects, 3);
  for (const CheckpointInfo& info : *all) EXPECT_TRUE(info.whole) << info.why_not;
}

// A notice that runs for long, or was withdrawn, is no leave to fill the store.
TEST(Keeper, UnderANoticeAsManyAgainAreLeftAndACleanEndClearsThem) {
  Bench bench;
  bench.keeper->Hurry();
  size_t most = 0;
  for (int step = 1; step <= 12; ++step) {
    bench.files.Write("checkpoint.pt", Whole("model", step));
    bench.Run(Duration::Seconds(4));
    most = std::max(most, ListCheckpoints(bench.store, "job")->size());
  }
  EXPECT_EQ(most, 6u);
  bench.files.Write("checkpoint.pt", Whole("model", 13));
  bench.End(0);
  ASSERT_TRUE(bench.keeper->Finished());
  const auto all = ListCheckpoints(bench.store, "job");
  ASSERT_EQ(all->size(), 3u);
  EXPECT_EQ((*all)[0].id, "1-13");
}

TEST(Keeper, RestoredFilesAreNotUploadedAgain) {
  Bench first;
  first.files.Write("checkpoint.pt", Whole("model", 1));
  first.Run(Duration::Seconds(21));
  KeeperConfig config;
  config.attempt = 2;
  config.restored = "1-1";
  HandClock clock;
  FakeFiles files(clock);
  auto manifest = LoadManifest(first.store, "job", "1-1");
  ASSERT_TRUE(manifest.ok());
  clock.now = MonoTime{manifest->parts.front().files.front().mtime_ns / 1'000'000};
  files.Write("checkpoint.pt", Whole("model", 1));
  config.job = "job";
  CheckpointKeeper keeper(config, first.store, clock, files);
  ASSERT_TRUE(keeper.Begin().ok());
  EXPECT_EQ(keeper.newest(), "1-1");
  for (int i = 0; i < 200; ++i) {
    clock.now = clock.now + Duration::Ms(50);
    keeper.Step();
    while (keeper.RunUpload()) keeper.Step();
  }
  EXPECT_EQ(keeper.commits(), 0);
  files.Write("second.json", "{\"a\": 1}");
  for (int i = 0; i < 450; ++i) {
    clock.now = clock.now + Duration::Ms(50);
    keeper.Step();
    while (keeper.RunUpload()) keeper.Step();
  }
  EXPECT_EQ(keeper.newest(), "2-1");
  auto next = LoadManifest(first.store, "job", "2-1");
  ASSERT_TRUE(next.ok());
  EXPECT_EQ(next->parts.front().files.front().object, "data/1-0-1/checkpoint.pt");
}

TEST(Keeper, AnAttemptThatMayNotCommitDoesNot) {
  KeeperConfig config;
  config.may_commit = [] { return false; };
  Bench bench(config);
  bench.files.Write("checkpoint.pt", Whole("model", 1));
  bench.Run(Duration::Seconds(5));
  bench.End(0);
  EXPECT_TRUE(bench.Restored().empty());
  EXPECT_TRUE(bench.keeper->Finished());
}

}  // namespace
}  // namespace stoker::test
