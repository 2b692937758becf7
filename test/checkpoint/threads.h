// SPDX-License-Identifier: Apache-2.0
// A crew of threads, and a clock for it. For tests.
#pragma once

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include "port/clock.h"
#include "port/transfer_side.h"

namespace stoker::test {

class Threads : public Crew {
 public:
  void Work(int workers, const std::function<void(int worker)>& work) override {
    std::vector<std::thread> threads;
    for (int worker = 1; worker < workers; ++worker)
      threads.emplace_back([&work, worker] { work(worker); });
    work(0);
    for (std::thread& thread : threads) thread.join();
  }
};

// A millisecond later whenever somebody looks.
class TickingClock : public Clock {
 public:
  MonoTime Mono() override { return {++now_}; }
  WallTime Wall() override { return {kStart + ++now_}; }

 private:
  static constexpr int64_t kStart = 1'767'225'600'000;
  std::atomic<int64_t> now_ = 0;
};

}  // namespace stoker::test
