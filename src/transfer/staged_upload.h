// SPDX-License-Identifier: Apache-2.0
// Copies of files on their way into the store, by the engine of transfer.h.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "port/checkpoint_files.h"
#include "port/object_store.h"
#include "transfer/transfer.h"

namespace stoker {

// One file of a moment, or one output. Moments that follow one another share those that did not
// change.
struct StagedFile {
  FileFact fact;
  std::shared_ptr<Snapshot> snapshot;  // where its copy lies; null once it is in the store
  size_t index = 0;                    // in `snapshot`
  // Where that is no copy but the file itself: what was read counts once it is seen to be the same.
  std::shared_ptr<Snapshot> original;
  std::string sha256;  // "" = not hashed yet
  std::string object;  // below jobs/<job>/checkpoints/; "" = not in the store yet
  bool restored = false;
};

// Those that have no hash yet, several at once. Blocks. The first failure ends it.
Status HashStaged(const std::vector<StagedFile*>& files, const Movers& movers);

// Sends each file under its key; several at once, and large ones in parts. Blocks. `sent` is called
// by any worker for each file that is in the store, whatever becomes of the others. Returns a
// failure that names its file. kCorrupt: a copy is not as long as it was.
Status SendStaged(ObjectStore& store, const Movers& movers,
                  const std::map<std::string, StagedFile*>& files,
                  const std::function<void(StagedFile* file)>& sent);

}  // namespace stoker
