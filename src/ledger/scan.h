// SPDX-License-Identifier: Apache-2.0
// Listing what belongs to some jobs among very many.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "base/status.h"
#include "port/object_store.h"

namespace stoker {

// An object as a listing showed it, and the store's clock then.
struct Listed {
  ObjectInfo object;
  WallTime now;
};

// Everything whose key begins with `prefix`, in the order of the keys, of all pages; each with the
// clock of its page. `now`, unless null, gets the clock of the last page, also when nothing was
// found. Thread-safe.
Result<std::vector<Listed>> ListBelow(ObjectStore& store, const std::string& prefix,
                                      WallTime* now = nullptr);

// Gets every object below prefixes[index], in the order of the keys; `now` is the store's clock.
using FoundBelow = std::function<void(size_t index, Listed found)>;

// Lists, page by page, the objects below `prefixes` (bytewise ordered; none begins with another or
// is itself a key; all begin with `common`), and leaps over what lies between them: at most one
// request for each prefix that has less than a page, and at most one for each thousand objects.
// Stops early where pages turn out to hold the objects of fewer than `worth` prefixes each: asking
// for each prefix is cheaper then; at once where requests are free. Returns how many prefixes, from
// the first on, are dealt with; of the next one some objects may have been found already.
// Thread-safe.
Result<size_t> ListWhileDense(ObjectStore& store, const std::string& common,
                              const std::vector<std::string>& prefixes, size_t worth,
                              const FoundBelow& found);

}  // namespace stoker
