// SPDX-License-Identifier: Apache-2.0
// The base of the wrappers: passes every call on. A wrapper overrides what it is about.
#pragma once

#include <memory>
#include <string>

#include "port/object_store.h"

namespace stoker {

// Does not own `inner`, which outlives it. As thread-safe as the inner store.
class ForwardingStore : public ObjectStore {
 public:
  explicit ForwardingStore(ObjectStore& inner) : inner_(inner) {}
  const StoreTraits& traits() const override { return inner_.traits(); }
  std::string url() const override { return inner_.url(); }
  Result<Object> Get(const std::string& key) override { return inner_.Get(key); }
  Result<Version> Put(const std::string& key, std::string_view data,
                      const Condition& condition = {}) override {
    return inner_.Put(key, data, condition);
  }
  Result<ObjectInfo> Head(const std::string& key) override { return inner_.Head(key); }
  Status Delete(const std::string& key) override { return inner_.Delete(key); }
  Result<Listing> List(const std::string& prefix, const std::string& after = "",
                       int limit = 1000) override {
    return inner_.List(prefix, after, limit);
  }
  Result<std::unique_ptr<Upload>> BeginUpload(const std::string& key,
                                              const Condition& condition = {}) override {
    return inner_.BeginUpload(key, condition);
  }
  Result<std::unique_ptr<Download>> OpenDownload(const std::string& key) override {
    return inner_.OpenDownload(key);
  }
  Result<int> SweepUnfinished(Duration age) override { return inner_.SweepUnfinished(age); }

 protected:
  ObjectStore& inner_;
};

// The same for an upload that is being wrapped.
class ForwardingUpload : public Upload {
 public:
  explicit ForwardingUpload(std::unique_ptr<Upload> inner) : inner_(std::move(inner)) {}
  Status Write(std::string_view bytes) override { return inner_->Write(bytes); }
  Status WriteFile(int fd, int64_t size) override { return inner_->WriteFile(fd, size); }
  Result<Version> Commit() override { return inner_->Commit(); }

 protected:
  std::unique_ptr<Upload> inner_;
};

}  // namespace stoker
