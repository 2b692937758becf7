// SPDX-License-Identifier: Apache-2.0
// Says when the store does not answer: an endpoint that takes a request and is silent, a folder on
// a server that is gone. A person who waits wants to know for what.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "base/time.h"
#include "port/object_store.h"

namespace stoker::client {

// Thread-safe. Speaks once in its life.
class StoreWatch {
 public:
  // `say` is called on a thread of its own, when something has been asked for longer than
  // `patience` and there is no answer; at most a quarter of that later.
  StoreWatch(std::function<void()> say, Duration patience);
  ~StoreWatch();

  class Asked {
   public:
    explicit Asked(StoreWatch& watch) : watch_(watch), number_(watch.Begin()) {}
    ~Asked() { watch_.End(number_); }
    Asked(const Asked&) = delete;
    Asked& operator=(const Asked&) = delete;

   private:
    StoreWatch& watch_;
    const int64_t number_;
  };

 private:
  int64_t Begin();
  void End(int64_t number);
  void Look();

  const std::function<void()> say_;
  const Duration patience_;
  std::mutex mutex_;
  std::condition_variable over_;
  bool ends_ = false;
  int64_t number_ = 0;
  std::map<int64_t, MonoTime> asked_;  // what has no answer yet, oldest first
  std::thread thread_;                 // from the first question on
};

// `store` with its small requests watched; contents, which may take long, are not. Both must
// outlive it.
std::unique_ptr<ObjectStore> WatchStore(std::unique_ptr<ObjectStore> store, StoreWatch& watch);

}  // namespace stoker::client
