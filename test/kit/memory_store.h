// SPDX-License-Identifier: Apache-2.0
// The reference of the store port: a map and a mutex. What a store means is what this one does; the
// other adapters run the same suite. Header-only, needs only port/.
#pragma once

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include <unistd.h>

#include "base/text.h"
#include "port/object_store.h"

namespace stoker {

// Thread-safe. Counts its writes in a private clock unless `now` is given.
class MemoryStore : public ObjectStore {
 public:
  explicit MemoryStore(std::function<WallTime()> now = nullptr) : now_(std::move(now)) {
    traits_.requests_are_free = true;
    traits_.poll = Duration::Ms(50);
    traits_.flush = Duration::Ms(200);
    traits_.follow_flush = Duration::Ms(100);
    traits_.follow = Duration::Ms(50);
    traits_.report = Duration::Seconds(1);
    traits_.usage = Duration::Seconds(15);
  }

  const StoreTraits& traits() const override { return traits_; }
  std::string url() const override { return "memory:"; }

  Result<Object> Get(const std::string& key) override {
    const std::lock_guard lock(mutex_);
    const auto found = objects_.find(key);
    if (found == objects_.end()) return Missing(key);
    return Object{found->second.info, *found->second.data, Now()};
  }

  Result<Version> Put(const std::string& key, std::string_view data,
                      const Condition& condition = {}) override {
    return Store(key, std::make_shared<const std::string>(data), condition);
  }

  Result<ObjectInfo> Head(const std::string& key) override {
    const std::lock_guard lock(mutex_);
    const auto found = objects_.find(key);
    if (found == objects_.end()) return Missing(key);
    return found->second.info;
  }

  Status Delete(const std::string& key) override {
    const std::lock_guard lock(mutex_);
    STOKER_TRY(Valid(key));
    objects_.erase(key);
    return Status::Ok();
  }

  Result<Listing> List(const std::string& prefix, const std::string& after = "",
                       int limit = 1000) override {
    const std::lock_guard lock(mutex_);
    Listing listing;
    listing.store_now = Now();
    auto at = after >= prefix && !after.empty() ? objects_.upper_bound(after)
                                                : objects_.lower_bound(prefix);
    for (; at != objects_.end() && StartsWith(at->first, prefix); ++at) {
      if (static_cast<int>(listing.objects.size()) >= std::max(limit, 1)) {
        listing.next = listing.objects.back().key;
        break;
      }
      listing.objects.push_back(at->second.info);
    }
    return listing;
  }

  Result<std::unique_ptr<Upload>> BeginUpload(const std::string& key,
                                              const Condition& condition = {}) override {
    STOKER_TRY(Valid(key));
    return std::unique_ptr<Upload>(new MemoryUpload(*this, key, condition));
  }

  Result<std::unique_ptr<Download>> OpenDownload(const std::string& key) override {
    const std::lock_guard lock(mutex_);
    const auto found = objects_.find(key);
    if (found == objects_.end()) return Missing(key);
    return std::unique_ptr<Download>(new MemoryDownload(found->second.info, found->second.data));
  }

 private:
  struct Entry {
    ObjectInfo info;
    std::shared_ptr<const std::string> data;
  };

  class MemoryUpload : public Upload {
   public:
    MemoryUpload(MemoryStore& store, std::string key, Condition condition)
        : store_(store), key_(std::move(key)), condition_(std::move(condition)) {}
    Status Write(std::string_view bytes) override {
      data_.append(bytes);
      return Status::Ok();
    }
    Status WriteFile(int fd, int64_t size) override {
      std::string buffer(1 << 16, '\0');
      for (int64_t at = 0; at < size;) {
        const auto want = std::min<int64_t>(size - at, static_cast<int64_t>(buffer.size()));
        const ssize_t got = pread(fd, buffer.data(), static_cast<size_t>(want), at);
        if (got < 0) return ErrnoStatus(key_, errno);
        if (got == 0) return Status(Code::kInvalid, key_ + ": the file is shorter than said");
        data_.append(buffer, 0, static_cast<size_t>(got));
        at += got;
      }
      return Status::Ok();
    }
    Result<Version> Commit() override {
      return store_.Store(key_, std::make_shared<const std::string>(std::move(data_)), condition_);
    }

   private:
    MemoryStore& store_;
    std::string key_;
    Condition condition_;
    std::string data_;
  };

  class MemoryDownload : public Download {
   public:
    MemoryDownload(ObjectInfo info, std::shared_ptr<const std::string> data)
        : info_(std::move(info)), data_(std::move(data)) {}
    const ObjectInfo& info() const override { return info_; }
    Result<int64_t> Read(char* buffer, int64_t size) override {
      const size_t count = std::min(static_cast<size_t>(size), data_->size() - at_);
      if (count > 0) std::memcpy(buffer, data_->data() + at_, count);
      at_ += count;
      return static_cast<int64_t>(count);
    }

   private:
    ObjectInfo info_;
    std::shared_ptr<const std::string> data_;
    size_t at_ = 0;
  };

  static Status Missing(const std::string& key) {
    STOKER_TRY(Valid(key));
    return Status(Code::kNotFound, "memory:" + key + ": no such object");
  }
  static Status Valid(const std::string& key) {
    if (IsSafeRelativePath(key) && key.size() <= 900) return Status::Ok();
    return Status(Code::kInvalid, "'" + Printable(key) + "' is not a key");
  }

  WallTime Now() { return now_ ? now_() : WallTime{kStart + writes_}; }

  Result<Version> Store(const std::string& key, std::shared_ptr<const std::string> data,
                        const Condition& condition) {
    STOKER_TRY(Valid(key));
    const std::lock_guard lock(mutex_);
    const auto found = objects_.find(key);
    if (condition.kind == Condition::Kind::kAbsent && found != objects_.end()) {
      return Status(Code::kExists, "memory:" + key + ": exists already");
    }
    if (condition.kind == Condition::Kind::kMatch) {
      if (found == objects_.end()) return Missing(key);
      if (found->second.info.version != condition.version) {
        return Status(Code::kConflict, "memory:" + key + ": has changed");
      }
    }
    Entry& entry = objects_[key];
    entry.info.key = key;
    entry.info.size = static_cast<int64_t>(data->size());
    entry.info.version = std::to_string(++writes_);
    entry.info.last_modified = Now();
    entry.data = std::move(data);
    return entry.info.version;
  }

  static constexpr int64_t kStart = 1'767'225'600'000;  // 2026-01-01
  StoreTraits traits_;
  std::function<WallTime()> now_;
  std::mutex mutex_;
  std::map<std::string, Entry> objects_;
  int64_t writes_ = 0;
};

}  // namespace stoker
