// SPDX-License-Identifier: Apache-2.0
// The last resort: what a program left in its checkpoint folder, kept as it lies there once the
// program has ended. Nothing says that it is whole; it is what the program would have found after a
// kill on a machine of its own. docs/resuming.md has when it is kept and when it is restored.
//
// It lies apart, below jobs/<job>/checkpoints/as-left/: retention, the newest and older binaries
// never see it, and it shares no object with a whole checkpoint. One an attempt, of one node; where
// several nodes have written, each keeps its own for people who ask for it by name, and nothing
// begins from these: they are not of one moment.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/status.h"
#include "checkpoint/checkpoint_store.h"
#include "job/checkpoint_name.h"
#include "port/checkpoint_files.h"
#include "port/clock.h"
#include "port/object_store.h"
#include "transfer/transfer.h"

namespace stoker {

struct AsLeftConfig {
  std::string job;
  int attempt = 1;
  int rank = 0;
  int num_nodes = 1;
  bool wrote = false;   // the program has written here, in this attempt
  bool unkept = false;  // something of it is newer than the newest whole checkpoint
  std::string nonce;    // random, safe in a name: no other upload has it
  Movers movers;
  // As KeeperConfig::may_commit. Unset: it may.
  std::function<Result<bool>()> may_commit;
  // Somebody has lost patience: fails as at the deadline. Unset: nobody does.
  std::function<bool()> give_up;
  // Waits for so long before the store is asked again.
  std::function<void(Duration)> pause;
};

struct AsLeftKept {
  std::string id;      // "" = there was nothing to keep
  std::string beside;  // why `id` is a LeftOfNodeName; "" = it is none
  int files = 0;
  int64_t bytes = 0;
  std::vector<std::string> left_out;  // names that cannot be kept, with the reason
};

// Called when the program and all that it started have ended, by whoever alone uses `files`. Blocks
// until it is in the store, or fails, or `deadline` has passed; copies a few files at a time. Of
// several nodes all must call it: what one has is the attempt's only where no other has written.
// Older ones are cleared away but for the one before. kConflict: something still writes, or it came
// too late.
Result<AsLeftKept> KeepAsLeft(const AsLeftConfig& config, ObjectStore& store, Clock& clock,
                              CheckpointFiles& files, MonoTime deadline);

// Newest attempt first, damaged ones included (`whole`: every object is there). Errors are the
// store's.
Result<std::vector<CheckpointInfo>> ListAsLeft(ObjectStore& store, const std::string& job);

// What each of several nodes left: the same. Ids are LeftOfNodeName.
Result<std::vector<CheckpointInfo>> ListLeftOfNodes(ObjectStore& store, const std::string& job);

// Its part of SealAttempt.
Status SealAsLeft(ObjectStore& store, const std::string& job, int attempt);

// Keys.
std::string AsLeftKey(const std::string& job, int attempt);
std::string LeftOfNodeKey(const std::string& job, const LeftOfNode& left);
// Of a key that AsLeftKey made; 0 = it is none.
int AttemptOfAsLeftKey(const std::string& key);

}  // namespace stoker
