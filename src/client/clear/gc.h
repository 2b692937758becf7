// SPDX-License-Identifier: Apache-2.0
// All that is no longer needed: in the store, at providers, and on this machine.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/status.h"
#include "client/clear/holdings.h"
#include "client/clear/leavings.h"
#include "client/open/client.h"
#include "ledger/collect/collect.h"
#include "ledger/envs/kept_envs.h"

namespace stoker::client {

// What stood in the way of jobs that are not finished, by job.
using Unfinished = std::map<std::string, Status>;

// What went, or with CollectRequest::dry_run would.
struct Cleared {
  Caches caches;
  Collected collected;
  std::vector<std::string> instances;  // machines that were left over
  std::vector<std::string> images;     // of containers, that nobody has used for long
  std::vector<ProviderSweep> held;
  ClearedEnvs envs;
  int64_t uploads = 0;
  int64_t binaries = 0;
  int64_t unsaved = 0;
  int64_t work_places = 0;
  Unfinished unfinished;
};

// Finishes jobs whose end nobody noticed, and clears everything away. `all_regions`: of clouds, not
// only those that the ledger has noted. Where there is no store yet, what this machine has. What is
// kept since it could not be looked at is said.
Result<Cleared> ClearAll(Client& client, const CollectRequest& request, bool all_regions);

// What of it would be doomed, whatever `request.dry_run` says. Nothing changes.
Result<Collected> WouldCollect(Client& client, CollectRequest request);

}  // namespace stoker::client
