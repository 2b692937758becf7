// SPDX-License-Identifier: Apache-2.0
// Counts requests: what an operation costs in a bucket is how many of these it makes.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "test/kit/forwarding.h"

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

  // Every range that is read, and every part, is a request.
  Result<std::unique_ptr<ObjectReader>> OpenReader(const ObjectInfo& info) override {
    STOKER_ASSIGN(auto reader, inner_.OpenReader(info));
    return std::unique_ptr<ObjectReader>(new CountedReader(*this, std::move(reader)));
  }
  Result<ObjectInfo> PutFrom(const std::string& key, ObjectReader& from,
                             const Condition& condition = {}) override {
    ++put_;
    return inner_.PutFrom(key, from, condition);
  }
  Result<std::unique_ptr<PartsUpload>> BeginParts(const std::string& key, int64_t size,
                                                  const Condition& condition = {},
                                                  const std::string& resume = "",
                                                  bool executable = false) override {
    ++put_;
    STOKER_ASSIGN(auto parts, inner_.BeginParts(key, size, condition, resume, executable));
    return std::unique_ptr<PartsUpload>(new CountedParts(*this, std::move(parts)));
  }
  std::vector<OddKey> DeleteAll(const std::vector<std::string>& keys) override {
    delete_ += static_cast<int64_t>(keys.size());
    return inner_.DeleteAll(keys);
  }

 private:
  class CountedReader : public ForwardingReader {
   public:
    CountedReader(CountedStore& store, std::unique_ptr<ObjectReader> inner)
        : ForwardingReader(std::move(inner)), store_(store) {}
    Status Read(int64_t offset, int64_t size, const TakeBytes& take) override {
      ++store_.get_;
      return inner_->Read(offset, size, take);
    }

   private:
    CountedStore& store_;
  };
  class CountedParts : public ForwardingParts {
   public:
    CountedParts(CountedStore& store, std::unique_ptr<PartsUpload> inner)
        : ForwardingParts(std::move(inner)), store_(store) {}
    Result<PartSum> WritePart(int n, ObjectReader& from) override {
      ++store_.put_;
      return inner_->WritePart(n, from);
    }
    Result<ObjectInfo> Commit() override {
      ++store_.put_;
      return inner_->Commit();
    }

   private:
    CountedStore& store_;
  };

  std::atomic<int64_t> get_ = 0, put_ = 0, head_ = 0, delete_ = 0, list_ = 0;
};

}  // namespace stoker
