// SPDX-License-Identifier: Apache-2.0
// A store in a folder of this machine that has no room left: its nodes cannot report, so whoever
// looks at a job must say why nothing is heard of it.
#pragma once

#include <string>

#include "client/open/client.h"
#include "port/object_store.h"

namespace stoker::client {

// Says, once while it lasts: "the store is full (0 B are free in /…): …". Nothing where there is
// room, where the store is no folder of this machine, and where its file system tells nothing.
class FullStoreTeller {
 public:
  // One system call while there is room.
  void Tell(Client& client, const ObjectStore& store);

 private:
  bool told_ = false;
};

}  // namespace stoker::client
