// SPDX-License-Identifier: Apache-2.0
// A keeper over memory, driven by hand. For tests.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/text.h"
#include "checkpoint/checkpoint_store.h"
#include "checkpoint/keeper.h"
#include "test/checkpoint/fake_files.h"
#include "test/kit/memory_store.h"

namespace stoker::test {

struct Bench {
  explicit Bench(KeeperConfig config = {}) : files(clock) {
    config.job = "job";
    config.nonce_seed = 5;
    keeper = std::make_unique<CheckpointKeeper>(config, store, clock, files);
    EXPECT_TRUE(keeper->Begin().ok());
  }
  // One pass of both of the keeper's threads.
  void Pass() {
    keeper->Step();
    if (uploads) {
      while (keeper->RunUpload()) keeper->Step();
    }
  }
  void Run(Duration time, Duration grain = Duration::Ms(20)) {
    const MonoTime end = clock.now + time;
    while (clock.now < end) {
      clock.now = clock.now + grain;
      Pass();
    }
  }
  void End(int code, int signal = 0, bool signalled = false) {
    files.alive = false;
    TaskExit exit;
    exit.exit_code = code;
    exit.signal = signal;
    keeper->ProgramEnded(exit, signalled);
    for (int i = 0; i < 200 && !keeper->Finished(); ++i) Run(Duration::Ms(50));
  }
  // What a restore would give now; empty when there is nothing to restore.
  std::map<std::string, std::string> Restored(const std::set<std::string>& suspects = {}) {
    auto newest = NewestCheckpoint(store, "job", suspects);
    EXPECT_TRUE(newest.ok());
    FakeDirectory directory;
    if (newest.ok() && newest->has_value()) {
      const Status status = RestoreCheckpoint(store, "job", (*newest)->id, 0, directory);
      EXPECT_TRUE(status.ok()) << status.ToString();
    }
    return directory.files;
  }

  HandClock clock;
  MemoryStore store;
  FakeFiles files;
  std::unique_ptr<CheckpointKeeper> keeper;
  bool uploads = true;
};

using Contents = std::map<std::string, std::string>;

// As long as the one before it: sizes say nothing.
inline std::string StateOf(const std::string& name, int step) {
  return name + " of step " + Padded(step, 6) + std::string(200, '.');
}

// Nothing, or everything of one step.
inline void ExpectOneSave(const Contents& restored, const std::vector<std::string>& names) {
  if (restored.empty()) return;
  for (int step = 1; step < 50; ++step) {
    if (restored.count(names[0]) == 0 || restored.at(names[0]) != StateOf(names[0], step)) continue;
    for (const std::string& name : names) {
      ASSERT_EQ(restored.count(name), 1u) << name << ", step " << step;
      EXPECT_EQ(restored.at(name), StateOf(name, step)) << name;
    }
    return;
  }
  FAIL() << names[0] << " is of no step";
}

}  // namespace stoker::test
