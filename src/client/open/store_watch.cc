// SPDX-License-Identifier: Apache-2.0
#include "client/open/store_watch.h"

#include <chrono>
#include <utility>

#include "store/forwarding.h"
#include "sys/real_clock.h"

namespace stoker::client {
namespace {

MonoTime Now() { return RealClock().Mono(); }

class WatchedStore : public ForwardingStore {
 public:
  WatchedStore(std::unique_ptr<ObjectStore> store, StoreWatch& watch)
      : ForwardingStore(*store), own_(std::move(store)), watch_(watch) {}
  Result<Object> Get(const std::string& key) override {
    const StoreWatch::Asked asked(watch_);
    return inner_.Get(key);
  }
  Result<Version> Put(const std::string& key, std::string_view data,
                      const Condition& condition = {}) override {
    const StoreWatch::Asked asked(watch_);
    return inner_.Put(key, data, condition);
  }
  Result<ObjectInfo> Head(const std::string& key) override {
    const StoreWatch::Asked asked(watch_);
    return inner_.Head(key);
  }
  Status Delete(const std::string& key) override {
    const StoreWatch::Asked asked(watch_);
    return inner_.Delete(key);
  }
  Result<Listing> List(const std::string& prefix, const std::string& after = "",
                       int limit = 1000) override {
    const StoreWatch::Asked asked(watch_);
    return inner_.List(prefix, after, limit);
  }
  Result<std::vector<std::string>> ListKeys(const std::string& prefix) override {
    const StoreWatch::Asked asked(watch_);
    return inner_.ListKeys(prefix);
  }
  Result<ObjectInfo> PutUnsettled(const std::string& key, ObjectReader& from) override {
    return inner_.PutUnsettled(key, from);
  }
  Status Settle() override { return inner_.Settle(); }

 private:
  const std::unique_ptr<ObjectStore> own_;
  StoreWatch& watch_;
};

}  // namespace

StoreWatch::StoreWatch(std::function<void()> say, Duration patience)
    : say_(std::move(say)), patience_(patience) {}

StoreWatch::~StoreWatch() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  over_.notify_all();
  if (thread_.joinable()) thread_.join();
}

int64_t StoreWatch::Begin() {
  const MonoTime now = Now();
  const std::lock_guard lock(mutex_);
  if (!thread_.joinable()) thread_ = std::thread([this] { Look(); });
  asked_.emplace(++number_, now);
  return number_;
}

void StoreWatch::End(int64_t number) {
  const std::lock_guard lock(mutex_);
  asked_.erase(number);
}

// By looking now and then: to be woken for each request would cost more than they do.
void StoreWatch::Look() {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (over_.wait_for(lock, std::chrono::milliseconds(patience_.ms / 4),
                       [this] { return ends_; })) {
      return;
    }
    if (!asked_.empty() && Now() - asked_.begin()->second >= patience_) break;
  }
  lock.unlock();
  say_();
}

std::unique_ptr<ObjectStore> WatchStore(std::unique_ptr<ObjectStore> store, StoreWatch& watch) {
  return std::make_unique<WatchedStore>(std::move(store), watch);
}

}  // namespace stoker::client
