// SPDX-License-Identifier: Apache-2.0
// What the ledger keeps for a cloud, as callbacks: where machines of it may be, drills, its clock.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/time.h"
#include "port/clock.h"
#include "port/object_store.h"

namespace stoker::cloud {

// Thread-safe; none may be empty.
struct Notes {
  // Where anything of this ledger may be, as the cloud writes it (a region, GcePlace). All that
  // note_place ever got are among them.
  std::function<Result<std::vector<std::string>>()> places;
  // Before the first request there, so that whoever clears up looks there.
  std::function<Status(const std::string& place)> note_place;
  // Asks the machine's own agent to be taken after `lead`.
  std::function<Status(const std::string& job, const std::string& instance_id, Duration lead)>
      drill;
  // The store's clock, as far as `places` has told it.
  std::function<std::optional<WallTime>()> store_now;
};

// Places that are noted, and those of ProviderOptions::places; sorted, each once.
std::vector<std::string> AllPlaces(const std::vector<std::string>& noted,
                                   const std::vector<std::string>& also);

// Those in the store that `store` opens, of `provider`; `also` are among its places, noted or not.
// `clock` must outlive them.
Notes NotesIn(const std::function<Result<ObjectStore*>()>& store, const std::string& provider,
              Clock& clock, const std::vector<std::string>& also);

}  // namespace stoker::cloud
