// SPDX-License-Identifier: Apache-2.0
#include "page/events.h"

#include <chrono>

namespace stoker::page {
namespace {

// A peer that is gone is noticed by writing to it.
constexpr auto kBeat = std::chrono::seconds(10);

}  // namespace

void Events::Tell(const std::string& json) {
  std::lock_guard<std::mutex> lock(mutex_);
  for (Listener* listener : listeners_) listener->waiting.insert(json);
  changed_.notify_all();
}

void Events::Send(const WriteBytes& write) {
  Listener self;
  std::unique_lock<std::mutex> lock(mutex_);
  listeners_.insert(&self);
  std::string text = "retry: 1000\n\n";
  while (!ended_) {
    lock.unlock();
    const bool sent = write(text).ok();
    lock.lock();
    if (!sent) break;
    changed_.wait_for(lock, kBeat, [&] { return ended_ || !self.waiting.empty(); });
    text = self.waiting.empty() ? ": still here\n\n" : "";
    for (const std::string& each : self.waiting) text += "data: " + each + "\n\n";
    self.waiting.clear();
  }
  listeners_.erase(&self);
}

void Events::End() {
  std::lock_guard<std::mutex> lock(mutex_);
  ended_ = true;
  changed_.notify_all();
}

size_t Events::listeners() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return listeners_.size();
}

}  // namespace stoker::page
