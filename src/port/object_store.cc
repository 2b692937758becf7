// SPDX-License-Identifier: Apache-2.0
#include "port/object_store.h"

namespace stoker {

Status ListAll(ObjectStore& store, const std::string& prefix,
               const std::function<Status(const ObjectInfo&)>& each) {
  // A folder is read and sorted whole for each page: large ones are few. A bucket gives what it
  // has.
  constexpr int kPage = 10'000;
  std::string after;
  do {
    STOKER_ASSIGN(const Listing page, store.List(prefix, after, kPage));
    for (const ObjectInfo& object : page.objects) STOKER_TRY(each(object));
    after = page.next;
  } while (!after.empty());
  return Status::Ok();
}

}  // namespace stoker
