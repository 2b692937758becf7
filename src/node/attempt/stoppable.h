// SPDX-License-Identifier: Apache-2.0
// What is read only as long as nobody says stop: a node that is told to go must not wait for the
// end of a long copy. Inside node/ only.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "port/transfer_side.h"
#include "store/forwarding.h"

namespace stoker::node {

using Stopped = std::function<bool()>;  // thread-safe

inline Status StoppedStatus() {
  return Status(Code::kCancelled, "stopped while the node was set up");
}

class StoppableReader : public ForwardingReader {
 public:
  StoppableReader(std::unique_ptr<ObjectReader> inner, const Stopped& stopped)
      : ForwardingReader(std::move(inner)), stopped_(stopped) {}
  Status Read(int64_t offset, int64_t size, const TakeBytes& take) override {
    if (stopped_()) return StoppedStatus();
    return inner_->Read(offset, size, [&](std::string_view bytes) -> Status {
      return stopped_() ? StoppedStatus() : take(bytes);
    });
  }
  // Who gets none has to Read, and hears of it.
  int fd() const override { return stopped_() ? -1 : inner_->fd(); }

 private:
  const Stopped& stopped_;
};

class StoppableSource : public TransferSource {
 public:
  // Both outlive it.
  StoppableSource(TransferSource& inner, const Stopped& stopped)
      : inner_(inner), stopped_(stopped) {}
  Result<std::unique_ptr<ObjectReader>> OpenReader(const ObjectInfo& info) override {
    if (stopped_()) return StoppedStatus();
    STOKER_ASSIGN(auto reader, inner_.OpenReader(info));
    return std::unique_ptr<ObjectReader>(
        std::make_unique<StoppableReader>(std::move(reader), stopped_));
  }
  int64_t throttled() const override { return inner_.throttled(); }

 private:
  TransferSource& inner_;
  const Stopped& stopped_;
};

// Lists page by page as long as nobody says stop.
class StoppableStore : public ForwardingStore {
 public:
  StoppableStore(ObjectStore& inner, const Stopped& stopped)
      : ForwardingStore(inner), stopped_(stopped) {}
  Result<Listing> List(const std::string& prefix, const std::string& after, int limit) override {
    if (stopped_()) return StoppedStatus();
    return inner_.List(prefix, after, limit);
  }

 private:
  const Stopped& stopped_;
};

}  // namespace stoker::node
