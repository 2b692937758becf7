// SPDX-License-Identifier: Apache-2.0
// Passes a step's output on and keeps its end, which says why it failed.
#pragma once

#include <mutex>
#include <string>
#include <string_view>

#include "port/process_runner.h"

namespace stoker::node {

// Thread-safe; `to` must outlive it.
class TailSink : public LogSink {
 public:
  explicit TailSink(LogSink& to) : to_(to) {}
  void Write(LogStream stream, std::string_view bytes) override {
    to_.Write(stream, bytes);
    const std::lock_guard<std::mutex> lock(mutex_);
    tail_.append(bytes);
    if (tail_.size() > 2 * kKept) tail_.erase(0, tail_.size() - kKept);
  }
  // At least the last 64 KiB, if there was so much.
  std::string Tail() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return tail_;
  }

 private:
  static constexpr size_t kKept = 64 << 10;  // a compiler's errors, and all that pip says after
  LogSink& to_;
  std::mutex mutex_;
  std::string tail_;
};

}  // namespace stoker::node
