// SPDX-License-Identifier: Apache-2.0
// The keeper that ships, over the simulated disk and bucket: what a program writes is what the next
// machine gets, and nothing that was torn.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "checkpoint/checkpoint_store.h"
#include "checkpoint/keeper.h"
#include "sim/bucket/bucket.h"
#include "sim/disk/disk.h"

namespace stoker::sim {
namespace {

constexpr int kSteps = 6;

enum class Style { kInPlace, kRename, kFolders };

// The file of one step; a mix of two, or a part of one, is told from it.
std::string Contents(int step, const std::string& name) {
  return name + " " + std::to_string(step) + " " +
         std::string(200 + static_cast<size_t>(step) * 10, static_cast<char>('a' + step)) + " end";
}

// The step that all these files are of; 0 = there are none; -1 = torn or mixed.
int StepOf(const std::map<std::string, Disk::File>& files, Style style) {
  std::map<int, std::set<std::string>> whole;
  for (const auto& [path, file] : files) {
    bool found = false;
    const std::string name = path.substr(path.rfind('/') + 1);
    for (int step = 1; step <= kSteps && !found; ++step) {
      found = file.data == Contents(step, name);
      if (found) whole[step].insert(name);
    }
    if (!found) return -1;
  }
  if (whole.empty()) return 0;
  if (style != Style::kFolders && whole.size() != 1) return -1;
  for (const auto& [step, names] : whole) {
    if (names != std::set<std::string>{"model.pt", "optim.pt"}) return -1;
  }
  return whole.rbegin()->first;
}

struct Node {
  Node(uint64_t seed, Style how) : prng(seed), style(how) {}

  void Save(int step) {
    const std::string folder =
        style == Style::kFolders ? "step-" + std::to_string(step) + "/" : std::string();
    for (const std::string name : {"model.pt", "optim.pt"}) {
      const std::string path = folder + name + (style == Style::kRename ? ".tmp" : "");
      const std::string data = Contents(step, name);
      (void)(style == Style::kInPlace ? disk.OpenInPlace(path) : disk.Open(path));
      for (size_t at = 0; at < data.size(); at += 60) {
        if (!disk.WriteAt(path, at, std::string_view(data).substr(at, 60)).ok()) break;
        if (++writes == kill_at_write) scheduler.In(kill_after, [this] { End(9); });
        scheduler.Sleep(60);
      }
      disk.Close(path);
      if (style == Style::kRename) (void)disk.Rename(path, folder + name);
    }
  }

  void Start() {
    disk.TaskBegins();
    program.Spawn([this] {
      for (int step = 1; step <= kSteps; ++step) {
        scheduler.Sleep(7000);
        Save(step);
      }
      End(0);
    });
    keeper = std::make_unique<CheckpointKeeper>(Config(), store, clock, *files);
    ASSERT_TRUE(keeper->Begin().ok());
    agent.Spawn([this] {
      while (!keeper->Finished()) {
        keeper->Step();
        if (keeper->UploadWaiting()) bell.Notify();
        files->Wait(std::max(keeper->NextStep() - clock.Mono(), Duration::Ms(1)));
      }
    });
    agent.Spawn([this] {
      while (!keeper->Finished()) {
        if (!keeper->RunUpload()) bell.Wait(1000);
      }
    });
  }

  static KeeperConfig Config() {
    KeeperConfig config;
    config.job = "job";
    config.nonce_seed = 3;
    return config;
  }

  // From the program itself (`signal` 0) or from outside.
  void End(int signal) {
    if (!disk.task_alive()) return;
    torn_at_end = StepOf(disk.files(), style) < 0;
    TaskExit exit;
    exit.signal = signal;
    disk.TaskEnds(signal == 0 ? WriterFate::kEndedWell : WriterFate::kKilled);
    keeper->ProgramEnded(exit, false);
    if (signal != 0) program.Kill();
  }

  void Run() {
    while (scheduler.RunOne()) {
    }
  }

  // What another machine gets: its step, and whether it is whole.
  int Restored() {
    bucket.faults = {};
    BucketClient reader(bucket, scheduler, prng, "reader", nullptr);
    const auto newest = NewestCheckpoint(reader, "job", {});
    EXPECT_TRUE(newest.ok());
    if (!newest.ok() || !newest->has_value()) return 0;
    Disk other(scheduler, clock);
    const Status status = RestoreCheckpoint(reader, "job", (*newest)->id, 0, *other.OpenWriter());
    EXPECT_TRUE(status.ok()) << status.ToString();
    return StepOf(other.files(), style);
  }

  Scheduler scheduler;
  Prng prng;
  const Style style;
  Bucket bucket{scheduler, prng};
  SimClock clock{scheduler};
  Disk disk{scheduler, clock};
  BucketClient store{bucket, scheduler, prng, "agent", nullptr};
  std::unique_ptr<CheckpointFiles> files = disk.OpenCheckpointFiles();
  std::unique_ptr<CheckpointKeeper> keeper;
  Signal bell{scheduler};
  bool torn_at_end = false;
  int writes = 0;
  int kill_at_write = 0;
  int64_t kill_after = 0;
  Process agent{scheduler, "agent"};
  Process program{scheduler, "program"};
};

constexpr Style kStyles[] = {Style::kInPlace, Style::kRename, Style::kFolders};

TEST(DiskKeeper, WhatWasWrittenLastIsRestoredWhole) {
  for (const Style style : kStyles) {
    Node node(1, style);
    node.Start();
    node.Run();
    EXPECT_TRUE(node.keeper->Finished());
    EXPECT_GE(node.keeper->commits(), kSteps - 1);
    EXPECT_EQ(node.Restored(), kSteps);
  }
}

TEST(DiskKeeper, WhatWasKilledMidWriteIsNeverCommittedTorn) {
  for (const Style style : kStyles) {
    int torn = 0;
    int restored = 0;
    int write = 0;
    for (bool more = true; more;) {
      ++write;
      for (const int64_t after : {0, 20, 59, 61}) {
        Node node(static_cast<uint64_t>(write), style);
        node.kill_at_write = write;
        node.kill_after = after;
        node.Start();
        node.Run();
        more = node.writes >= write;
        EXPECT_TRUE(node.keeper->Finished()) << write;
        const int step = node.Restored();
        ASSERT_GE(step, 0) << "killed " << after << " ms after write " << write;
        // The step before the one that was being written had the time to be committed.
        EXPECT_GE(step, (write - 1) / 12) << "killed " << after << " ms after write " << write;
        torn += node.torn_at_end ? 1 : 0;
        restored += step > 0 ? 1 : 0;
      }
    }
    EXPECT_GT(write, 50);
    EXPECT_GT(torn, 100);
    EXPECT_GT(restored, 100);
  }
}

TEST(DiskKeeper, AProgramKilledAtAnyTimeLeavesNothingTorn) {
  for (const Style style : kStyles) {
    int restored = 0;
    for (int64_t at = 500; at < 52'000; at += 211) {
      Node node(static_cast<uint64_t>(at), style);
      node.Start();
      node.scheduler.At(at, [&] { node.End(9); });
      node.Run();
      EXPECT_TRUE(node.keeper->Finished()) << at;
      const int step = node.Restored();
      ASSERT_GE(step, 0) << "killed at " << at;
      EXPECT_GE(step, at / 7800 - 1) << "killed at " << at;
      restored += step > 0 ? 1 : 0;
    }
    EXPECT_GT(restored, 150);
  }
}

TEST(DiskKeeper, AnAgentThatDiesLeavesNothingTorn) {
  for (const Style style : kStyles) {
    int restored = 0;
    for (int64_t at = 500; at < 50'000; at += 307) {
      Node node(static_cast<uint64_t>(at), style);
      node.Start();
      node.scheduler.At(at, [&] {
        node.agent.Kill();
        node.program.Kill();
        node.disk.TaskEnds(WriterFate::kKilled);
      });
      node.Run();
      const int step = node.Restored();
      ASSERT_GE(step, 0) << "killed at " << at;
      restored += step > 0 ? 1 : 0;
    }
    EXPECT_GT(restored, 60);
  }
}

TEST(DiskKeeper, NoFaultOfTheBucketOrTheDiskTearsAnything) {
  int restored = 0;
  for (uint64_t seed = 0; seed < 120; ++seed) {
    const Style style = kStyles[seed % 3];
    Node node(seed, style);
    node.bucket.faults = {60, 60, 60, 60, 60, 60};
    const int64_t full_at = node.prng.Between(5000, 40'000);
    const int64_t full_for = node.prng.Between(100, 10'000);
    const int64_t killed_at = node.prng.Between(10'000, 60'000);
    node.Start();
    node.scheduler.At(full_at, [&] { node.disk.SetFull(true); });
    node.scheduler.At(full_at + full_for, [&] { node.disk.SetFull(false); });
    node.scheduler.At(killed_at, [&] { node.End(9); });
    // The bucket heals in the end, so that the keeper does.
    node.scheduler.At(200'000, [&] { node.bucket.faults = {}; });
    node.Run();
    EXPECT_TRUE(node.keeper->Finished()) << seed;
    const int step = node.Restored();
    ASSERT_GE(step, 0) << "seed " << seed;
    restored += step > 0 ? 1 : 0;
  }
  EXPECT_GT(restored, 80);
}

TEST(DiskKeeper, TheSameSeedGivesTheSameStory) {
  const auto story = [](uint64_t seed) {
    Node node(seed, Style::kInPlace);
    node.bucket.faults = {60, 60, 60, 60, 60, 60};
    std::string out;
    node.bucket.changed = [&](const BucketChange& change) {
      out += std::to_string(node.scheduler.now()) + " " + change.key + "\n";
    };
    node.Start();
    node.Run();
    return out;
  };
  EXPECT_EQ(story(4), story(4));
  EXPECT_NE(story(4), story(5));
}

}  // namespace
}  // namespace stoker::sim
