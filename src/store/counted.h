// SPDX-License-Identifier: Apache-2.0
// Counts requests: what an operation costs in a bucket is how many of these it makes.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "store/forwarding.h"

namespace stoker {

class CountedStore : public ForwardingStore {
 public:
  struct Counts {
    int64_t get = 0, put = 0, head = 0, del = 0, list = 0;
    int64_t all() const { return get + put + head + del + list; }
  };

  explicit CountedStore(ObjectStore& inner) : ForwardingStore(inner) {}
  // Since the start or the last Reset. Each is exact; together they are no snapshot.
  Counts counts() const { return {get_, put_, head_, delete_, list_}; }
  void Reset() { get_ = put_ = head_ = delete_ = list_ = 0; }

  Result<Object> Get(const std::string& key) override {
    ++get_;
    return inner_.Get(key);
  }
  Result<Version> Put(const std::string& key, std::string_view data,
                      const Condition& condition = {}) override {
    ++put_;
    return inner_.Put(key, data, condition);
  }
  Result<ObjectInfo> Head(const std::string& key) override {
    ++head_;
    return inner_.Head(key);
  }
  Status Delete(const std::string& key) override {
    ++delete_;
    return inner_.Delete(key);
  }
  Result<Listing> List(const std::string& prefix, const std::string& after = "",
                       int limit = 1000) override {
    ++list_;
    return inner_.List(prefix, after, limit);
  }
  Result<std::unique_ptr<Upload>> BeginUpload(const std::string& key,
                                              const Condition& condition = {}) override {
    ++put_;
    return inner_.BeginUpload(key, condition);
  }
  Result<std::unique_ptr<Download>> OpenDownload(const std::string& key) override {
    ++get_;
    return inner_.OpenDownload(key);
  }

 private:
  std::atomic<int64_t> get_ = 0, put_ = 0, head_ = 0, delete_ = 0, list_ = 0;
};

}  // namespace stoker
