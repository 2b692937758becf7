// SPDX-License-Identifier: Apache-2.0
// Which files are one save, where hints of them come late, or never.
#include <gtest/gtest.h>

#include "base/text.h"
#include "test/checkpoint/keeper_bench.h"

namespace stoker::test {
namespace {

const std::vector<std::string> kParts = {"odd/e", "odd/o",  "odd/tmp",
                                         "odd/x", "odd/id", "state.db"};

// A database that is never closed, beside files that each save writes.
void SaveBesideDatabase(Bench& bench, int step) {
  for (const std::string& name : kParts) {
    if (name == "state.db") continue;
    bench.files.Write(name, StateOf(name, step));
    if (step % 2 == 0) bench.Run(Duration::Ms(20));
  }
  bench.files.Open("state.db", StateOf("state.db", step));
  bench.Run(Duration::Ms(40));
}

TEST(KeeperSets, AFileThatIsWrittenAndNeverClosedIsPartOfEachSave) {
  for (const int64_t pause : {400, 1'400, 3'000}) {
    Bench bench;
    for (int step = 1; step <= 6; ++step) {
      SaveBesideDatabase(bench, step);
      bench.Run(Duration::Ms(pause));
    }
    bench.files.Kill();
    bench.End(0, 9);
    ExpectOneSave(bench.Restored(), kParts);
  }
}

TEST(KeeperSets, AlsoWhereItLayThereBefore) {
  Bench bench;
  SaveBesideDatabase(bench, 1);
  bench.files.CloseAll(Fate::kLived);
  KeeperConfig config;
  config.job = "job";
  config.attempt = 2;
  config.nonce_seed = 6;
  bench.keeper = std::make_unique<CheckpointKeeper>(config, bench.store, bench.clock, bench.files);
  ASSERT_TRUE(bench.keeper->Begin().ok());
  bench.Run(Duration::Seconds(1));
  for (int step = 2; step <= 3; ++step) {
    SaveBesideDatabase(bench, step);
    bench.Run(Duration::Ms(2'500));
  }
  bench.files.Kill();
  bench.End(0, 9);
  ExpectOneSave(bench.Restored(), kParts);
}

// The job file says which file a save's folder ends with.
TEST(KeeperSets, AFolderNeedsTheFileThatTheJobFileNames) {
  KeeperConfig config;
  config.complete = "done.txt";
  Bench bench(config);
  bench.files.Write("best/model.bin", StateOf("model", 1));
  bench.Run(Duration::Seconds(1));
  bench.files.Write("best/done.txt", "");
  bench.Run(Duration::Ms(300));
  EXPECT_EQ(bench.keeper->commits(), 1);
  bench.files.Write("step-2/model.bin", StateOf("model", 2));
  bench.Run(Duration::Seconds(40));
  EXPECT_EQ(bench.Restored().count("step-2/model.bin"), 0u) << "its mark is missing";
  bench.files.Write("step-2/done.txt", "");
  bench.Run(Duration::Ms(300));
  EXPECT_EQ(bench.Restored()["step-2/model.bin"], StateOf("model", 2));
  EXPECT_EQ(bench.Restored()["best/model.bin"], StateOf("model", 1));
}

// As DeepSpeed does: all within a moment, and the hints of a new folder come late.
TEST(KeeperSets, ASaveOfAFolderAndFilesBesideItWithinATick) {
  for (const int64_t deaf : {0, 10, 1'000}) {
    Bench bench;
    bench.files.deaf = Duration::Ms(deaf);
    for (int step = 1; step <= 6; ++step) {
      const std::string folder = "global_step" + std::to_string(step);
      for (const char* name :
           {"mp_rank_00_model_states.pt", "zero_pp_rank_0_states.pt", "zero_pp_rank_1_states.pt"}) {
        bench.files.Write(folder + "/" + name, StateOf(name, step));
      }
      bench.files.Write("zero_to_fp32.py", "script");
      bench.files.Write("latest", folder);
      bench.Run(Duration::Seconds(3));
    }
    EXPECT_GE(bench.keeper->commits(), 4) << deaf;
    EXPECT_EQ(bench.Restored()["latest"], "global_step6") << deaf;
    EXPECT_EQ(bench.Restored().count("global_step6/zero_pp_rank_1_states.pt"), 1u) << deaf;
  }
}

// Two files by hand, 3.5 s apart, a save each 8.5 s: longer than `quiet`, and shorter than a rest.
TEST(KeeperSets, PairsThatPauseAreNeverMixed) {
  KeeperConfig config;
  config.keep = 0;
  Bench bench(config);
  const auto save = [&](const std::string& name, int step, Duration pause) {
    bench.files.Open(name + ".new");
    bench.Run(Duration::Ms(100));
    bench.files.Close(name + ".new", StateOf(name, step));
    bench.files.Rename(name + ".new", name);
    bench.Run(pause);
    const Contents seen = bench.Restored();
    if (seen.empty()) return;
    ASSERT_EQ(seen.size(), 2u);
    EXPECT_EQ(seen.at("model.pt").substr(8), seen.at("optim.pt").substr(8));
  };
  for (int step = 1; step <= 8; ++step) {
    save("model.pt", step, Duration::Ms(3400));
    save("optim.pt", step, Duration::Ms(4900));
  }
  EXPECT_EQ(bench.keeper->commits(), 8);
  bench.files.Kill();
  bench.End(0, 9);
  EXPECT_EQ(bench.Restored().at("optim.pt"), StateOf("optim.pt", 8));
}

// As Lightning does where its working name is of another disk: both are written in place, and only
// a rename would show that the first is a save by itself.
TEST(KeeperSets, TwoFilesOfOneLayoutInPlaceAreOneSave) {
  for (const Duration pause : {Duration::Ms(20), Duration::Ms(400)}) {
    Bench bench;
    for (int step = 1; step <= 4; ++step) {
      bench.files.Write("epoch=" + std::to_string(step) + ".ckpt", R"({"step": 1})");
      if (step == 4) break;
      bench.Run(pause);
      bench.files.Write("last.ckpt", StateOf("last", step));
      bench.Run(Duration::Seconds(3));
    }
    bench.files.Kill();
    bench.End(0, 9);
    EXPECT_EQ(bench.Restored()["last.ckpt"], StateOf("last", 3));
    EXPECT_EQ(bench.Restored().count("epoch=3.ckpt"), 1u);
    EXPECT_EQ(bench.Restored().count("epoch=4.ckpt"), 0u);
  }
}

// Once, and only of what its owner could help.
TEST(KeeperSets, WhatCountsByRestAloneIsSaidAtTheFirstSave) {
  const auto said = [](const std::string& name, const std::string& bytes) {
    std::string lines;
    KeeperConfig config;
    config.say = [&](const std::string& line) { lines += line + "\n"; };
    Bench bench(config);
    for (int step = 1; step <= 3; ++step) {
      bench.files.Write(name, bytes);
      bench.Run(Duration::Seconds(25));
    }
    return lines;
  };
  EXPECT_EQ(said("model.bin", StateOf("model", 1)),
            "nothing shows when 'model.bin' is whole: it counts by rest alone. What "
            "helps: another name until it is whole, and a rename then; or lines in the file "
            "$STOKER_SAVES (docs/checkpoints.md)\n");
  EXPECT_EQ(said("model.json", "{}"), "");
}

// As zarr does: a folder without a number, of which each save but the first writes a tenth.
TEST(KeeperSets, ATreeThatIsWrittenInPlaceIsKeptFromItsSecondSaveOn) {
  for (const int64_t pause : {2'600, 6'000, 11'000}) {
    Bench bench;
    for (int step = 1; step <= 6; ++step) {
      for (int chunk = 0; chunk < 2'000; ++chunk) {
        if (step > 1 && chunk % 10 != step % 10) continue;
        const std::string row = "weights.zarr/" + std::to_string(chunk / 100) + ".0/";
        bench.files.Write(row + std::to_string(chunk % 100) + ".0", StateOf("chunk", step));
        if (chunk % 200 == 0) bench.Run(Duration::Ms(20));
      }
      bench.files.Write("weights.zarr/.zattrs", R"({"step": )" + std::to_string(step) + "}");
      bench.Run(Duration::Ms(pause), Duration::Ms(100));
      EXPECT_GE(bench.keeper->commits(), step == 1 ? 0 : step - 1) << pause;
    }
    bench.files.Kill();
    bench.End(0, 9);
    EXPECT_EQ(bench.Restored()["weights.zarr/.zattrs"], R"({"step": 6})");
  }
}

// By its name it is a part; that older ones go while newer ones come shows that it counts saves.
TEST(KeeperSets, APartsNumberThatRotatesCountsSaves) {
  for (const int64_t pause : {900, 3'000, 11'000}) {
    Bench bench;
    for (int step = 1; step <= 9; ++step) {
      const auto shard = [](int at) { return "shard-000" + std::to_string(at) + ".raw"; };
      bench.files.Write(shard(step), StateOf("shard", step));
      if (step > 2) bench.files.Delete(shard(step - 2));
      bench.Run(Duration::Ms(pause));
      const Contents restored = bench.Restored();
      if (pause >= 3'000 && step > 5) EXPECT_EQ(restored.count(shard(step)), 1u) << pause;
      EXPECT_LE(restored.size(), 2u);
    }
    bench.files.Kill();
    bench.End(0, 9);
    EXPECT_EQ(bench.Restored().count("shard-0008.raw"), 1u) << pause;
  }
}

// As the Trainer's folders, a link to the newest, and files without proof that each save writes
// before them: all of one save, or of the one before.
TEST(KeeperSets, AFolderWithItsMarkGoesWithWhatEachSaveWritesBesideIt) {
  for (const int64_t pause : {900, 1'300, 3'000}) {
    Bench bench;
    for (int step = 1; step <= 6; ++step) {
      const std::string folder = "checkpoint-" + std::to_string(step);
      bench.files.Write("odd/a.raw", StateOf("a", step));
      for (const char* name : {"model.safetensors", "optimizer.pt", "rng_state.pth"}) {
        bench.files.Write(folder + "/" + name, StateOf(name, step));
        bench.Run(Duration::Ms(20));
      }
      bench.files.Write(folder + "/trainer_state.json", "{}");
      bench.Run(Duration::Ms(5));
      bench.files.Link("latest", folder);
      bench.Run(Duration::Ms(pause));
      Contents restored = bench.Restored();
      if (step <= 2) continue;
      const int newest = restored.count(folder + "/trainer_state.json") == 1 ? step : step - 1;
      EXPECT_EQ(newest, pause > 2'000 ? step : step - 1) << pause;
      EXPECT_EQ(restored["latest"], "-> checkpoint-" + std::to_string(newest)) << pause;
      EXPECT_EQ(restored["odd/a.raw"], StateOf("a", newest)) << pause;
    }
  }
}

// Pictures that come each second, beside the Trainer's folders: they never rest.
TEST(KeeperSets, AFolderWithItsMarkDoesNotWaitForeverForWhatNeverRests) {
  Bench bench;
  int picture = 0;
  const auto draw = [&](int seconds) {
    for (int i = 0; i < seconds; ++i) {
      bench.files.Write("samples/" + std::to_string(picture++) + ".raw", StateOf("s", picture));
      bench.Run(Duration::Seconds(1));
    }
  };
  for (int i = 0; i < 70; ++i)
    bench.files.Write("samples/" + std::to_string(picture++) + ".raw", "s");
  draw(3);
  for (int step = 1; step <= 4; ++step) {
    const std::string folder = "checkpoint-" + std::to_string(step);
    bench.files.Write(folder + "/model.safetensors", StateOf("model", step));
    bench.files.Write(folder + "/trainer_state.json", "{}");
    draw(30);
    EXPECT_EQ(bench.Restored().count(folder + "/trainer_state.json"), 1u) << step;
  }
}

// Parts of one save that are written anew, each after it was removed.
TEST(KeeperSets, PartsThatAreRemovedAndWrittenAnewCountNoSaves) {
  Bench bench;
  const std::vector<std::string> ranks = {"rank0.raw", "rank1.raw", "rank2.raw"};
  for (int step = 1; step <= 6; ++step) {
    for (const std::string& name : ranks) {
      bench.files.Delete(name);
      bench.Run(Duration::Ms(40));
      bench.files.Write(name, StateOf(name, step));
      bench.Run(Duration::Ms(400));
    }
    bench.Run(Duration::Seconds(3));
    ExpectOneSave(bench.Restored(), ranks);
  }
  EXPECT_GE(bench.keeper->commits(), 5);
}

// Tables and events that are open all the time, in the folder of the saves and beside them.
TEST(KeeperSets, WhatIsOpenAllTheTimeHoldsNoKnownSaveUp) {
  Bench ray;
  Bench trainer;
  std::string results;
  for (int step = 1; step <= 5; ++step) {
    results += R"({"training_iteration": )" + std::to_string(step) + "}\n";
    const std::string date = "2026-11-28_00-38-5" + std::to_string(step) + ".817339";
    ray.files.Open("exp/trial/result.json", results);
    ray.files.Open("exp/trial/progress.csv", "step\n" + std::to_string(step));
    ray.files.Write("exp/checkpoint_" + date + "/rank0.bin", StateOf("rank0", step));
    ray.files.Write("exp/checkpoint_manager_snapshot.json",
                    "{\"at\": \"checkpoint_" + date + "\"}");
    const std::string folder = "checkpoint-" + std::to_string(step) + "/";
    trainer.files.Open("runs/Nov28_host/events.out.tfevents.1.host", StateOf("events", step));
    for (const char* name : {"model.safetensors", "optimizer.pt", "rng_state.pth"}) {
      trainer.files.Write(folder + name, StateOf(name, step));
    }
    trainer.files.Write(folder + "trainer_state.json", "{}");
    ray.Run(Duration::Seconds(3));
    trainer.Run(Duration::Seconds(3));
    EXPECT_EQ(ray.keeper->commits(), step);
    EXPECT_EQ(trainer.keeper->commits(), step);
  }
}

// Saves at SIGTERM, gives the file its name and exits: nobody sees how it was before it is gone.
TEST(KeeperSets, ARenameOfWhoEndsAsItWasToldStands) {
  for (const Fate fate : {Fate::kLived, Fate::kUnknown, Fate::kKilled}) {
    for (const int code : {0, 3, 143}) {
      for (const bool told : {true, false}) {
        Bench bench;
        for (int step = 1; step <= 4; ++step) {
          bench.files.Write("new", StateOf("model", step));
          bench.files.Rename("new", "step-" + std::to_string(step));
          bench.Run(Duration::Seconds(3));
        }
        bench.files.Open("new", StateOf("model", 5));
        bench.files.Kill(fate);
        bench.files.Rename("new", "step-5", fate);
        bench.End(code, 0, told);
        const bool whole = told || code == 0 || fate == Fate::kLived;
        EXPECT_EQ(bench.Restored().count("step-5"), whole ? 1u : 0u)
            << code << " " << static_cast<int>(fate) << " " << told;
      }
    }
  }
}

}  // namespace
}  // namespace stoker::test
