// SPDX-License-Identifier: Apache-2.0
#include "store/bucket/retrying_carrier.h"

#include <utility>

namespace stoker::bucket {
RetryingCarrier::RetryingCarrier(Carrier& inner, RetryPolicy policy, uint64_t seed,
                                 std::function<bool()> stopped)
    : inner_(inner), policy_(policy), stopped_(std::move(stopped)), prng_(seed) {}

bool RetryingCarrier::Again(int next, const Status& failure, bool conditional) {
  if (failure.Is(Code::kBusy)) ++throttled_;
  const bool worth = failure.transient() || failure.Is(Code::kCorrupt);
  if (!worth || (conditional && !failure.Is(Code::kBusy))) return false;
  if (next > policy_.tries || !budget_.Spend()) return false;
  Duration delay;
  {
    const std::lock_guard lock(mutex_);
    delay = RetryDelay(policy_, next, prng_);
  }
  return SleepUnless(stopped_, delay);
}

Result<HttpResponse> RetryingCarrier::Call(const Request& request) {
  budget_.Earn();
  for (int next = 2;; ++next) {
    auto answer = inner_.Call(request);
    if (answer.ok() || !Again(next, answer.status(), request.conditional)) return answer;
  }
}

Result<HttpResponse> RetryingCarrier::Once(const Request& request) {
  budget_.Earn();
  return inner_.Call(request);
}

Result<std::unique_ptr<HttpAnswer>> RetryingCarrier::Open(const Request& request) {
  budget_.Earn();
  for (int next = 2;; ++next) {
    auto answer = inner_.Open(request);
    if (answer.ok() || !Again(next, answer.status(), request.conditional)) return answer;
  }
}

}  // namespace stoker::bucket
