// SPDX-License-Identifier: Apache-2.0
// What git ignores and packing therefore leaves behind: a program that needs its data finds out
// at submit, and not on another machine.
#pragma once

#include <cstdint>
#include <string>

#include "pack/listing.h"

namespace stoker::pack {

struct LeftBehind {
  int64_t files = 0;
  int64_t bytes = 0;
  std::string largest;  // the entry that git names, a file or a folder with '/' at its end
  int64_t largest_bytes = 0;
  bool more = false;  // counting stopped: there are more files than it takes time to count
};

// Nothing where git did not list the files or does not answer within seconds. Environments, caches
// and what is never packed (docs/packing.md) do not count: nobody misses them. Follows no link.
LeftBehind CountLeftBehind(const Listing& listing);

}  // namespace stoker::pack
