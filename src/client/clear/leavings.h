// SPDX-License-Identifier: Apache-2.0
// What is left on this machine by whoever has gone: nobody misses it, or it is made again. Needs
// neither the ledger nor room.
#pragma once

#include <cstdint>
#include <string>

#include "base/time.h"
#include "client/open/client.h"

namespace stoker::client {

// So long what is left may lie unused.
inline constexpr Duration kUnusedAge = Duration::Hours(24 * 30);

// Each returns how many went, or with `dry_run` would.
struct Caches {
  int64_t copies = 0;
  int64_t environments = 0;  // of Python
};
// What lies in the cache and is made again when it is missing.
Caches ClearCaches(Client& client, bool dry_run);
// What jobs left that no store had room for, when it is old: also of jobs that are gone.
int64_t ClearUnsaved(Client& client, bool dry_run);
// Where that lies.
std::string UnsavedFolder(Client& client);
// Where attempts worked whose machines are gone and did not clear it away.
int64_t ClearWorkPlaces(Client& client, bool dry_run);

}  // namespace stoker::client
