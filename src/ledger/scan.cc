// SPDX-License-Identifier: Apache-2.0
#include "ledger/scan.h"

#include <algorithm>

#include "base/text.h"

namespace stoker {

Result<std::vector<Listed>> ListBelow(ObjectStore& store, const std::string& prefix,
                                      WallTime* now) {
  std::vector<Listed> found;
  std::string after;
  do {
    STOKER_ASSIGN(const Listing page, store.List(prefix, after));
    for (const ObjectInfo& object : page.objects) found.push_back({object, page.store_now});
    if (now != nullptr) *now = page.store_now;
    after = page.next;
  } while (!after.empty());
  return found;
}

Result<size_t> ListWhileDense(ObjectStore& store, const std::string& common,
                              const std::vector<std::string>& prefixes, size_t worth,
                              const FoundBelow& found) {
  size_t at = 0;
  if (store.traits().requests_are_free) return at;
  std::string after;
  while (at < prefixes.size()) {
    STOKER_ASSIGN(const Listing page, store.List(common, std::max(prefixes[at], after)));
    const size_t first = at;
    for (const ObjectInfo& object : page.objects) {
      while (at < prefixes.size() && prefixes[at] < object.key &&
             !StartsWith(object.key, prefixes[at])) {
        ++at;
      }
      if (at == prefixes.size()) return at;
      if (StartsWith(object.key, prefixes[at])) found(at, {object, page.store_now});
    }
    if (page.next.empty()) return prefixes.size();
    after = page.next;
    if (at - first < worth) return at;
  }
  return at;
}

}  // namespace stoker
