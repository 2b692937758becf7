// SPDX-License-Identifier: Apache-2.0
// When to ask again, and when to stop. Decisions only: no clock, no waiting. Sources: "Timeouts,
// retries and backoff with jitter" (Amazon Builders' Library); RFC 9110, 10.2.3 (Retry-After).
#pragma once

#include <algorithm>
#include <mutex>

#include "base/prng.h"
#include "base/status.h"
#include "base/time.h"

namespace stoker {

struct RetryPolicy {
  int tries = 8;  // of one request, the first included
  Duration first = Duration::Ms(200);
  Duration longest = Duration::Seconds(20);
};

// How long to wait before try number `next` (2, 3, …): anything up to a bound that doubles, so that
// those who were refused together do not come back together.
inline Duration RetryDelay(const RetryPolicy& policy, int next, Prng& prng) {
  const int doublings = std::clamp(next - 2, 0, 20);
  const int64_t bound = std::min(policy.longest.ms, policy.first.ms << doublings);
  return Duration::Ms(prng.Between(bound / 4, bound));
}

// What all requests of one client may spend on retries together: a service that is down is asked
// little more often than one that works. Every request earns a tenth of a retry. Thread-safe.
class RetryBudget {
 public:
  explicit RetryBudget(int retries = 100) : most_(retries * 10), tenths_(most_) {}
  void Earn() {
    const std::lock_guard lock(mutex_);
    tenths_ = std::min(most_, tenths_ + 1);
  }
  // False: it is spent, and the failure stands.
  bool Spend() {
    const std::lock_guard lock(mutex_);
    if (tenths_ < 10) return false;
    tenths_ -= 10;
    return true;
  }

 private:
  std::mutex mutex_;
  const int most_;
  int tenths_;
};

}  // namespace stoker
