// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/status.h"
#include "port/checkpoint_files.h"
#include "sys/watch/task_watch.h"

namespace stoker {

struct Tree {
  std::vector<FileFact> files;  // ordered by path
  std::map<std::string, InodeId> inodes;
  std::vector<SkippedEntry> skipped;  // see DirectoryScan
  dev_t device = 0;
  bool torn = false;  // names came or went while they were listed: some may be missing
};

// Leaves out of a listing what nobody wants to see: it costs no memory. Each may be empty.
struct TreeFilter {
  std::function<bool(const std::string& path)> enter;  // a folder
  // What is no folder is wanted by its name at most: where it says no, the kernel is not asked.
  std::function<bool(const std::string& path)> named;
  // A file, a link or an empty folder. Where it is set, what is none of these is passed over.
  std::function<bool(const FileFact& fact)> wanted;
  // A folder that cannot be opened is passed over, and told; else it is skipped where it may not be
  // read, and an error of the listing where that has another reason.
  std::function<void(const std::string& path, const Status& why)> closed;
};

FileFact FactOf(const std::string& path, const struct stat& info);
// Everything below `root`; empty when `root` is not there. Follows no link; what vanishes meanwhile
// is left out, and it is listed anew, a few times, when names have come or gone; does not enter
// other file systems. With `only`, nothing but the entry of that name
// and what is below it.
Result<Tree> ListTree(const std::string& root, const std::string& only = "",
                      const TreeFilter& filter = {});
// Once through the same tree, for the filter to see.
Status WalkTree(const std::string& root, const TreeFilter& filter);

}  // namespace stoker
