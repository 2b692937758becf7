// SPDX-License-Identifier: Apache-2.0
// Threads that work on one thing and end with it.
#pragma once

#include <exception>
#include <system_error>
#include <thread>
#include <vector>

#include "port/transfer_side.h"

namespace stoker {

class ThreadCrew : public Crew {
 public:
  // Fewer, where the system gives no more threads.
  void Work(int workers, const std::function<void(int worker)>& work) override {
    std::vector<std::thread> others;
    for (int worker = 1; worker < workers; ++worker) {
      try {
        others.emplace_back([&work, worker] { work(worker); });
      } catch (const std::system_error&) {
        break;
      }
    }
    work(0);
    for (std::thread& other : others) other.join();
  }
};

}  // namespace stoker
