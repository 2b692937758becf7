// SPDX-License-Identifier: Apache-2.0
// A checkpoint folder that outlives attempts (an absolute path, a link to one) before a checkpoint
// is restored into it: what the job never saved there is not the job's, and is moved, not removed.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "base/status.h"

namespace stoker::node {

struct SetAside {
  int64_t entries = 0;          // files, and folders with all in them, that were moved
  std::vector<std::string> to;  // the folders where they lie, under the same names
};

// Moves what lies in `folder` and is not in `ours` (paths relative to it) by rename into a new
// folder `name` below the first of `places` that can take it; by copy into the first one where none
// is on its file system. An error names what could not be moved; what was, stays moved.
Result<SetAside> MoveOthersAside(const std::string& folder, const std::set<std::string>& ours,
                                 const std::vector<std::string>& places, const std::string& name);

// Why `folder` (real path) cannot be a job's own; "" = it can. `home`, `state`: real paths.
std::string WhyNotForCheckpoints(const std::string& folder, const std::string& home,
                                 const std::string& state);

}  // namespace stoker::node
