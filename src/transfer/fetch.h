// SPDX-License-Identifier: Apache-2.0
// Files on their way out of the store into a directory, by the engine of transfer.h.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "port/checkpoint_files.h"
#include "port/object_store.h"
#include "transfer/transfer.h"

namespace stoker {

// What the store has under each of `keys`; nullopt: nothing. Folders of which several are wanted
// are listed, so that many files cost few requests. Blocks.
Result<std::map<std::string, std::optional<ObjectInfo>>> LookUp(
    ObjectStore& store, const Movers& movers, const std::vector<std::string>& keys);

// The same for objects that ought to be there, with their sizes. One that is not, or is of another
// size, is asked for by itself before that counts (ledger/segments/read_again.h): a list may have
// been damaged on its way. Stops at the first that is wrong for good.
Result<std::map<std::string, std::optional<ObjectInfo>>> LookUpWanted(
    ObjectStore& store, const Movers& movers, const std::map<std::string, int64_t>& sizes);

struct WantedFile {
  std::string key;  // of the object, whole
  std::string as;   // where it goes in the directory; of each WantedFile another
  // What it must be, and gets there.
  int64_t size = 0;
  std::string sha256;
  int mode = 0644;
  int64_t mtime_ns = 0;
  std::string called = "";  // in errors; "" = as `as`
};

// Several at once, and large ones in ranges where the directory takes them so. Every byte passes
// the hash, as it came or as it was read back from the directory, before its file has its name.
// What arrives damaged is asked for again, as it may be whole in the store: three times in all.
// Blocks. After a failure nothing more is begun. kCorrupt: one is missing in the store, or its size
// or hash differ; kConflict: one was replaced while it was read. Both name the file.
Status FetchFiles(ObjectStore& store, const Movers& movers, const std::vector<WantedFile>& files,
                  DirectoryWriter& into);

}  // namespace stoker
