// SPDX-License-Identifier: Apache-2.0
// Calls that may be repeated are, within bounds that all calls of one client share.
#pragma once

#include <chrono>
#include <mutex>
#include <thread>

#include "base/prng.h"
#include "net/retry.h"

namespace stoker::cloud {

// Thread-safe.
class Retrying {
 public:
  Retrying(const RetryPolicy& policy, uint64_t seed) : policy_(policy), prng_(seed) {}

  // What `send` gives, called again while `may_help` says so of that; pauses in between.
  template <typename Send, typename MayHelp>
  auto Call(Send send, MayHelp may_help) {
    budget_.Earn();
    for (int next = 2;; ++next) {
      auto reply = send();
      if (!may_help(reply) || next > policy_.tries || !budget_.Spend()) return reply;
      Duration delay;
      {
        const std::lock_guard lock(mutex_);
        delay = RetryDelay(policy_, next, prng_);
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(delay.ms));
    }
  }

 private:
  const RetryPolicy policy_;
  RetryBudget budget_;
  std::mutex mutex_;
  Prng prng_;
};

}  // namespace stoker::cloud
