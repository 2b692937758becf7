// SPDX-License-Identifier: Apache-2.0
// Server-sent events (HTML, 9.2): short words that something has changed; a page then asks what.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "net/http_codec.h"

namespace stoker::page {

// Thread-safe.
class Events {
 public:
  // To every browser; one that is slow gets each line once, however often it was told.
  void Tell(const std::string& json);
  // Sends what is told until the peer is gone or End. Blocks.
  void Send(const WriteBytes& write);
  // All Send return soon, now and from now on.
  void End();
  size_t listeners() const;

 private:
  struct Listener {
    std::set<std::string> waiting;
  };
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::set<Listener*> listeners_;
  bool ended_ = false;
};

}  // namespace stoker::page
