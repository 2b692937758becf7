// SPDX-License-Identifier: Apache-2.0
// A store as one end of a transfer: all of its keys.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "port/object_store.h"
#include "port/transfer_side.h"

namespace stoker {

// `store` outlives it.
class StoreSide : public TransferSide {
 public:
  explicit StoreSide(ObjectStore& store) : store_(store) {}
  std::string url() const override { return store_.url(); }
  Status List(const std::function<void(ObjectInfo)>& each,
              const std::function<void(std::string key, Status why)>& odd, WallTime* now) override;
  bool keeps_times() const override { return false; }
  int64_t whole_bytes() const override;
  Result<std::unique_ptr<ObjectReader>> OpenReader(const ObjectInfo& info) override {
    return store_.OpenReader(info);
  }
  Result<ObjectInfo> PutFrom(const std::string& key, ObjectReader& from) override {
    return store_.PutFrom(key, from);
  }
  int64_t memory(const ObjectReader& from) const override;
  Result<std::unique_ptr<PartsUpload>> BeginParts(const std::string& key, const ObjectInfo& from,
                                                  const std::string& resume) override {
    return store_.BeginParts(key, from.size, {}, resume, from.executable);
  }
  std::vector<OddKey> DeleteAll(const std::vector<std::string>& keys) override {
    return store_.DeleteAll(keys);
  }
  int64_t throttled() const override { return store_.throttled(); }

 private:
  ObjectStore& store_;
};

// One object of a store, as if there were no other.
class ObjectSide : public StoreSide {
 public:
  ObjectSide(ObjectStore& store, ObjectInfo object)
      : StoreSide(store), object_(std::move(object)) {}
  std::string url() const override { return StoreSide::url() + "/" + object_.key; }
  Status List(const std::function<void(ObjectInfo)>& each,
              const std::function<void(std::string key, Status why)>&, WallTime* now) override {
    *now = object_.last_modified;
    each(object_);
    return Status::Ok();
  }

 private:
  const ObjectInfo object_;
};

}  // namespace stoker
