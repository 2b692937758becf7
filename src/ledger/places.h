// SPDX-License-Identifier: Apache-2.0
// What the ledger keeps for providers: where machines of it may be, and drills that were asked for.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/time.h"
#include "port/object_store.h"

namespace stoker {

// Notes that machines of this ledger may be in `region` of `provider`: before the first request
// there, so that whoever clears up knows where to look. May be repeated. kInvalid: no name.
Status NotePlace(ObjectStore& store, const std::string& provider, const std::string& region);
// All that were ever noted, sorted. `now`, unless null: the store's clock then.
Result<std::vector<std::string>> NotedPlaces(ObjectStore& store, const std::string& provider,
                                             WallTime* now = nullptr);

// Asks the agent of a machine to behave as if its platform took it after `lead`, counted from when
// the agent reads it.
Status AskDrill(ObjectStore& store, const std::string& job, const std::string& instance_id,
                Duration lead);
// nullopt: nobody has asked.
Result<std::optional<Duration>> ReadDrill(ObjectStore& store, const std::string& job,
                                          const std::string& instance_id);

}  // namespace stoker
