// SPDX-License-Identifier: Apache-2.0
// A queue between threads: many post, one takes.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

namespace stoker::node {

template <typename T>
class Mailbox {
 public:
  void Post(T item) {
    {
      const std::lock_guard lock(mutex_);
      items_.push_back(std::move(item));
    }
    arrived_.notify_one();
  }
  // The next item, or nullopt when none came within `timeout_ms` or Close was called.
  std::optional<T> Take(int64_t timeout_ms) {
    std::unique_lock lock(mutex_);
    arrived_.wait_for(lock, std::chrono::milliseconds(timeout_ms),
                      [&] { return closed_ || !items_.empty(); });
    if (items_.empty()) return std::nullopt;
    T item = std::move(items_.front());
    items_.pop_front();
    return item;
  }
  void Close() {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
    }
    arrived_.notify_all();
  }
  bool closed() {
    const std::lock_guard lock(mutex_);
    return closed_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<T> items_;
  bool closed_ = false;
};

}  // namespace stoker::node
