// SPDX-License-Identifier: Apache-2.0
// Ended jobs that somebody has no use for.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "base/time.h"
#include "client/open/client.h"
#include "ledger/collect/collect.h"

namespace stoker::client {

// By the word that was given, or the id; in this order.
using Refused = std::vector<std::pair<std::string, Status>>;

// What may go of the jobs that were named.
struct Removable {
  std::set<std::string> ids;
  Refused refused;  // the others, and why
  Survey survey;
};
// Waits a moment for those that are just ending.
Result<Removable> FindRemovable(Client& client, const std::vector<std::string>& words);

struct RemovedJobs {
  Removed removed;
  std::map<std::string, WallTime> goes;  // by job, when not at once
};
// Removes the jobs of `jobs` with all that they left: `now`, also on a full disk; else writes down
// that they go in an hour.
Result<RemovedJobs> RemoveJobs(Client& client, bool now, Removable* jobs);

}  // namespace stoker::client
