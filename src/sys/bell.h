// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <utility>

namespace stoker {

// A sleeping thread's alarm: Wait returns when woken (true), or after the time.
class Bell {
 public:
  void Ring() {
    {
      const std::lock_guard lock(mutex_);
      rung_ = true;
    }
    rang_.notify_one();
  }
  bool Wait(int64_t timeout_ms) {
    std::unique_lock lock(mutex_);
    rang_.wait_for(lock, std::chrono::milliseconds(timeout_ms), [&] { return rung_; });
    return std::exchange(rung_, false);
  }

 private:
  std::mutex mutex_;
  std::condition_variable rang_;
  bool rung_ = false;
};

}  // namespace stoker
