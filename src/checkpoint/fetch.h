// SPDX-License-Identifier: Apache-2.0
// Files on their way out of the store into a directory, by the engine of transfer.h.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "checkpoint/manifest.h"
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

// In a directory that is being restored: how the folder begins of what has come and has no name
// yet. Several nodes may restore into one directory, each beside the others.
inline constexpr char kRestoring[] = ".stoker-restoring";
std::string RestoringFolder(int rank);  // of the node of that rank
// Is it such a folder's name that no node restores into now, where this one, of `rank`, is about to
// begin, and there are `nodes` of them? One of a restore that was cut short is.
bool IsCutRestore(const std::string& name, int rank, int nodes);

struct WantedFile {
  std::string key;    // of the object, whole
  ManifestFile file;  // what it must be: size and hash
  std::string as;     // where it goes in the directory; of each WantedFile another
};

// Several at once, and large ones in ranges where the directory takes them so. Every byte passes
// the hash, as it came or as it was read back from the directory, before its file has its name.
// What arrives damaged is asked for again, as it may be whole in the store: three times in all.
// Blocks. After a failure nothing more is begun. kCorrupt: one is missing in the store, or its size
// or hash differ; kConflict: one was replaced while it was read. Both name the file.
Status FetchFiles(ObjectStore& store, const Movers& movers, const std::vector<WantedFile>& files,
                  DirectoryWriter& into);

// Makes the directory consist of `files` alone, whose objects lie below `root`. They come first,
// all of them, beside what lies there, which goes once they have come, or where there is no room
// for both, and get their names last, in the order in which they were changed when they were saved:
// what is newest by ctime was newest then. Several names of one file are that again, where the file
// system has such names. Errors as above.
Status FetchExactly(ObjectStore& store, const Movers& movers, const std::string& root,
                    const std::vector<ManifestFile>& files, int rank, DirectoryWriter& into);

// Each file under its name as soon as it is there, beside what lies in the directory.
Status FetchBeside(ObjectStore& store, const Movers& movers, const std::string& root,
                   const std::vector<ManifestFile>& files, DirectoryWriter& into);

}  // namespace stoker
