// SPDX-License-Identifier: Apache-2.0
// Several nodes with a keeper each, one store between them. For tests.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/text.h"
#include "checkpoint/checkpoint_store.h"
#include "checkpoint/keeper.h"
#include "test/checkpoint/fake_files.h"
#include "test/kit/memory_store.h"

namespace stoker::test {

// An answer of it may take long: `before` is what happens meanwhile.
class SlowStore : public MemoryStore {
 public:
  Result<Object> Get(const std::string& key) override {
    if (before && StartsWith(key, slow)) std::exchange(before, nullptr)();
    return MemoryStore::Get(key);
  }
  Result<ObjectInfo> PutFrom(const std::string& key, ObjectReader& from,
                             const Condition& condition = {}) override {
    if (fails > 0 && StartsWith(key, "jobs/job/checkpoints/data/" + failing) && --passes < 0) {
      --fails;
      return Status(Code::kUnavailable, "no answer");
    }
    return MemoryStore::PutFrom(key, from, condition);
  }
  int fails = 0;                 // so many of the next uploads
  int passes = 0;                // before that, so many succeed
  std::string failing = "1-0-";  // below data/: of rank 0
  std::string slow;              // prefix of the keys of which the next one takes long
  std::function<void()> before;
};

inline std::string Shard(int rank, int step) {
  return "shard " + std::to_string(rank) + " of step " + Padded(step, 4);
}

class Gang {
 public:
  explicit Gang(int nodes) {
    for (int rank = 0; rank < nodes; ++rank) {
      files.push_back(std::make_unique<FakeFiles>(clock));
      KeeperConfig config;
      config.job = "job";
      config.rank = rank;
      config.num_nodes = nodes;
      config.nonce_seed = static_cast<uint64_t>(rank) + 1;
      if (rank == 0) config.say = [this](const std::string& line) { said.push_back(line); };
      keepers.push_back(std::make_unique<CheckpointKeeper>(config, store, clock, *files.back()));
      EXPECT_TRUE(keepers.back()->Begin().ok());
    }
  }
  // Both of two nodes, at the same time.
  void Save(int step) {
    for (const int rank : {0, 1}) {
      files[static_cast<size_t>(rank)]->Write("shard-" + std::to_string(rank), Shard(rank, step));
    }
  }
  void Run(Duration time) {
    const MonoTime end = clock.now + time;
    while (clock.now < end) {
      clock.now = clock.now + Duration::Ms(20);
      for (auto& keeper : keepers) {
        if (frozen_follower && keeper != keepers.front()) continue;
        if (frozen_leader && keeper == keepers.front()) continue;
        keeper->Step();
        if (slow_leader && keeper == keepers.front()) continue;
        while (keeper->RunUpload()) keeper->Step();
      }
    }
  }
  void End(int code) {
    for (size_t i = 0; i < keepers.size(); ++i) {
      files[i]->alive = false;
      TaskExit exit;
      exit.exit_code = code;
      keepers[i]->ProgramEnded(exit, false);
    }
    Run(Duration::Seconds(15));
  }
  std::map<std::string, std::string> Restored(int rank) {
    auto newest = NewestCheckpoint(store, "job", {});
    EXPECT_TRUE(newest.ok());
    FakeDirectory directory;
    if (newest.ok() && newest->has_value()) {
      EXPECT_TRUE(RestoreCheckpoint(store, "job", (*newest)->id, rank, directory).ok());
    }
    return directory.files;
  }

  bool slow_leader = false;       // what rank 0 uploads does not arrive
  bool frozen_follower = false;   // the others see and do nothing
  bool frozen_leader = false;     // rank 0 does
  std::vector<std::string> said;  // by rank 0's keeper
  HandClock clock;
  SlowStore store;
  std::vector<std::unique_ptr<FakeFiles>> files;
  std::vector<std::unique_ptr<CheckpointKeeper>> keepers;
};

// What two nodes have written as Shard is of one step, in each checkpoint.
inline void ExpectNeverMixed(Gang& gang) {
  auto all = ListCheckpoints(gang.store, "job");
  ASSERT_TRUE(all.ok());
  for (const CheckpointInfo& info : *all) {
    FakeDirectory directory;
    ASSERT_TRUE(RestoreCheckpoint(gang.store, "job", info.id, 0, directory).ok()) << info.id;
    // Of before one of them wrote anything.
    if (directory.files.count("shard-0") + directory.files.count("shard-1") < 2) continue;
    EXPECT_EQ(directory.files["shard-0"].substr(7), directory.files["shard-1"].substr(7))
        << info.id;
  }
}

}  // namespace stoker::test
