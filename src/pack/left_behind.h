// SPDX-License-Identifier: Apache-2.0
// What packing left behind: a program that needs its data finds out at submit, and if it failed for
// want of it, is told at its end.
#pragma once

#include <cstdint>
#include <future>
#include <string>
#include <vector>

#include "base/status.h"
#include "pack/listing.h"

namespace stoker::pack {

// Git ignores it; .stokerignore does; it is made to hold secrets; it is a virtual environment.
enum class LeftBy { kGit, kIgnoreFile, kSecret, kEnvironment };

struct LeftEntry {
  std::string path;  // a folder of which nothing is packed has '/' at its end
  LeftBy by = LeftBy::kGit;
  int64_t bytes = 0;  // 0: not counted
};

struct LeftBehind {
  // Of what git ignores:
  int64_t files = 0;
  int64_t bytes = 0;
  std::string largest;  // the entry that git names, a file or a folder with '/' at its end
  int64_t largest_bytes = 0;
  bool more = false;  // counting stopped: there are more files than it takes time to count
  // All, what git ignores first, the largest of that first.
  std::vector<LeftEntry> entries;
};

// What git ignores of the listed folder, asked on a thread of its own: packing goes on meanwhile.
// Nothing where the listing knows. Whoever lets go of it waits for git, some seconds at most.
using IgnoredByGit = std::future<Result<std::vector<std::string>>>;
IgnoredByGit AskIgnored(const Listing& listing);

// Environments, caches and what is never packed (docs/packing.md) do not count: nobody misses them.
// Nothing of git's where it does not answer within seconds. Follows no link.
// `ignored` is AskIgnored's answer about it.
LeftBehind FindLeftBehind(const Listing& listing, IgnoredByGit ignored);

}  // namespace stoker::pack
