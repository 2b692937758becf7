// SPDX-License-Identifier: Apache-2.0
// The files of a checkpoint on their way into a directory, and what that is called meanwhile.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "checkpoint/manifest.h"
#include "port/checkpoint_files.h"
#include "port/object_store.h"
#include "transfer/fetch.h"

namespace stoker {

// In a directory that is being restored: how the folder begins of what has come and has no name
// yet. Several nodes may restore into one directory, each beside the others.
inline constexpr char kRestoring[] = ".stoker-restoring";
std::string RestoringFolder(int rank);  // of the node of that rank
// Is it such a folder's name that no node restores into now, where this one, of `rank`, is about to
// begin, and there are `nodes` of them? One of a restore that was cut short is.
bool IsCutRestore(const std::string& name, int rank, int nodes);

// `file`, whose object is `key`, for FetchFiles.
WantedFile Wanted(const std::string& key, const ManifestFile& file, const std::string& as);

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
