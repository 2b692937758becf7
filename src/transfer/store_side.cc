// SPDX-License-Identifier: Apache-2.0
#include "transfer/store_side.h"

#include "base/text.h"

namespace stoker {
namespace {

constexpr int64_t kCopyPiece = 1 << 20;
constexpr int64_t kStreamed = 16 << 20;  // of stores that know no parts

}  // namespace

int64_t StoreSide::whole_bytes() const {
  const int64_t part = store_.traits().part_bytes;
  return part > 0 ? part : kStreamed;
}

// A request may hold its body while it is sent, besides what was read for it.
int64_t StoreSide::memory(const ObjectReader& from) const {
  return kCopyPiece + (from.fd() >= 0 ? 0 : 2 * from.info().size);
}

Status StoreSide::List(const std::function<void(ObjectInfo)>& each,
                       const std::function<void(std::string key, Status why)>&, WallTime* now) {
  constexpr int kPage = 1000;
  std::string after;
  do {
    STOKER_ASSIGN(Listing page, store_.List("", after, kPage));
    *now = page.store_now;
    for (ObjectInfo& object : page.objects) {
      // What consoles write to show an empty folder; that of the prefix itself has no name here.
      const bool folder = object.key.empty() || EndsWith(object.key, "/");
      if (object.size == 0 && folder) continue;
      each(std::move(object));
    }
    after = page.next;
  } while (!after.empty());
  return Status::Ok();
}

}  // namespace stoker
