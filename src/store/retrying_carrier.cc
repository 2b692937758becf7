// SPDX-License-Identifier: Apache-2.0
#include "store/retrying_carrier.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

namespace stoker::bucket {
namespace {

constexpr Duration kAskStopped = Duration::Ms(100);

}  // namespace

RetryingCarrier::RetryingCarrier(Carrier& inner, RetryPolicy policy, uint64_t seed,
                                 std::function<bool()> stopped)
    : inner_(inner), policy_(policy), stopped_(std::move(stopped)), prng_(seed) {}

// False: stopped.
bool RetryingCarrier::Wait(Duration delay) const {
  while (!stopped_ || !stopped_()) {
    if (delay.ms <= 0) return true;
    const Duration step = stopped_ ? std::min(delay, kAskStopped) : delay;
    std::this_thread::sleep_for(std::chrono::milliseconds(step.ms));
    delay = delay - step;
  }
  return false;
}

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
  return Wait(delay);
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
