// SPDX-License-Identifier: Apache-2.0
// The base of the wrappers: passes every call on. A wrapper overrides what it is about.
#pragma once

#include <memory>
#include <string>

#include "port/object_store.h"
#include "port/pause.h"

namespace stoker {

// Does not own `inner`, which outlives it. As thread-safe as the inner store.
class ForwardingStore : public ObjectStore, public Pausable {
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
  Result<std::unique_ptr<ObjectReader>> OpenReader(const ObjectInfo& info) override {
    return inner_.OpenReader(info);
  }
  Result<ObjectInfo> PutFrom(const std::string& key, ObjectReader& from,
                             const Condition& condition = {}) override {
    return inner_.PutFrom(key, from, condition);
  }
  Result<std::unique_ptr<PartsUpload>> BeginParts(const std::string& key, int64_t size,
                                                  const Condition& condition = {},
                                                  const std::string& resume = "",
                                                  bool executable = false) override {
    return inner_.BeginParts(key, size, condition, resume, executable);
  }
  std::vector<OddKey> DeleteAll(const std::vector<std::string>& keys) override {
    return inner_.DeleteAll(keys);
  }
  int64_t throttled() const override { return inner_.throttled(); }
  void Pause(Duration time) override { stoker::Pause(inner_, time); }
  Result<int> SweepUnfinished(Duration age, const Sweep& sweep = {}) override {
    return inner_.SweepUnfinished(age, sweep);
  }

 protected:
  ObjectStore& inner_;
};

// The same for what is read by several threads.
class ForwardingReader : public ObjectReader {
 public:
  explicit ForwardingReader(std::unique_ptr<ObjectReader> inner) : inner_(std::move(inner)) {}
  const ObjectInfo& info() const override { return inner_->info(); }
  bool ranged() const override { return inner_->ranged(); }
  Status Read(int64_t offset, int64_t size, const TakeBytes& take) override {
    return inner_->Read(offset, size, take);
  }
  int fd() const override { return inner_->fd(); }
  Result<bool> Executable() override { return inner_->Executable(); }
  Status Confirm(const std::vector<PartSum>& parts) override { return inner_->Confirm(parts); }

 protected:
  std::unique_ptr<ObjectReader> inner_;
};

}  // namespace stoker
