// SPDX-License-Identifier: Apache-2.0
#include "port/object_store.h"

namespace stoker {

Status ListAll(ObjectStore& store, const std::string& prefix,
               const std::function<Status(const ObjectInfo&)>& each) {
  std::string after;
  do {
    STOKER_ASSIGN(const Listing page, store.List(prefix, after));
    for (const ObjectInfo& object : page.objects) STOKER_TRY(each(object));
    after = page.next;
  } while (!after.empty());
  return Status::Ok();
}

}  // namespace stoker
