// SPDX-License-Identifier: Apache-2.0
// Committed checkpoints as the store has them: finding, checking, restoring and clearing away.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/status.h"
#include "checkpoint/manifest.h"
#include "port/checkpoint_files.h"
#include "port/object_store.h"
#include "transfer/transfer.h"

namespace stoker {

struct CheckpointInfo {
  std::string id;
  int attempt = 0;
  int64_t seq = 0;
  int64_t step = -1;  // Manifest::step
  int64_t bytes = 0;
  int files = 0;
  int nodes = 0;  // that had files of their own
  WallTime created;
  std::string reason;
  bool whole = false;  // the manifest is sound and every object is there with the right size
  std::string why_not;
};

// Newest first, damaged ones included. One listing, one read of each manifest, and what LookUp
// needs for its files; fails when the store does, and only then.
Result<std::vector<CheckpointInfo>> ListCheckpoints(ObjectStore& store, const std::string& job);

// The checkpoint to restore: of the highest attempt that committed, the highest sequence number
// that is whole and not among `suspects`. nullopt = none: start from the beginning.
Result<std::optional<CheckpointInfo>> NewestCheckpoint(ObjectStore& store, const std::string& job,
                                                       const std::set<std::string>& suspects);

// One by its name; fails when the store does, and only then.
Result<CheckpointInfo> InspectCheckpoint(ObjectStore& store, const std::string& job,
                                         const std::string& id);

// `id`: "<attempt>-<seq>", or what AsLeftName makes (checkpoint/as_left.h); so everywhere below.
Result<Manifest> LoadManifest(ObjectStore& store, const std::string& job, const std::string& id);
// kCorrupt, naming the first object that is missing or of another size.
Status CheckObjects(ObjectStore& store, const Manifest& manifest);

// True when a failure of RestoreCheckpoint says something about the checkpoint: its data are
// damaged or missing. A full disk, a store that is away or missing rights say nothing about it.
bool BlamesCheckpoint(const Status& failure);

// Makes the directory equal to what node `rank` gets of checkpoint `id`, with every byte's hash
// checked on the way. What was there and does not belong is removed. On failure (kCorrupt names the
// file) the directory is in between and must not be used. Several files at once, by `movers`.
Status RestoreCheckpoint(ObjectStore& store, const std::string& job, const std::string& id,
                         int rank, DirectoryWriter& into, const Movers& movers = {});

// The same for `stoker get`: what lies there already and is not part of the checkpoint stays.
Status DownloadCheckpoint(ObjectStore& store, const std::string& job, const std::string& id,
                          int rank, DirectoryWriter& into, const Movers& movers = {});

struct Retention {
  int attempt = 0;                // whose rank 0 clears away, and commits nothing meanwhile
  int keep = 0;                   // the newest; 0 = clears nothing away
  std::set<std::string> protect;  // ids
  // Of this attempt's, those whose manifest may have been sent more often than it has arrived.
  std::set<CheckpointId> unsure;
};

// Clears away all but the newest `keep` checkpoints: first their manifests, then data that no
// remaining manifest names and no commit under way can still name. The number of a manifest that
// may come once more stays taken. Does nothing when a later attempt has committed.
Status RetainCheckpoints(ObjectStore& store, const std::string& job, const Retention& retention);

// Once nobody may begin a commit in `attempt` any more: sees to it that what is still on its way
// comes to nothing, so that the newest checkpoint is the newest for good. Such a commit is known by
// its number, which has data or a round in the store before its manifest is sent.
Status SealAttempt(ObjectStore& store, const std::string& job, int attempt);

}  // namespace stoker
