// SPDX-License-Identifier: Apache-2.0
#include "store/bucket/carrier.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "net/http_date.h"

namespace stoker::bucket {
namespace {

constexpr Duration kAskStopped = Duration::Ms(100);

MonoTime Now() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return {std::chrono::duration_cast<std::chrono::milliseconds>(since).count()};
}

}  // namespace

Result<HttpResponse> WholeAnswer(HttpAnswer& answer, int64_t max_bytes) {
  HttpResponse whole = answer.head();
  STOKER_ASSIGN(whole.body, ReadWhole(answer, max_bytes));
  return whole;
}

bool SleepUnless(const std::function<bool()>& stopped, Duration delay) {
  while (!stopped || !stopped()) {
    if (delay.ms <= 0) return true;
    const Duration step = stopped ? std::min(delay, kAskStopped) : delay;
    std::this_thread::sleep_for(std::chrono::milliseconds(step.ms));
    delay = delay - step;
  }
  return false;
}

void Pause::Note(const HttpResponse& refusal, WallTime service_now) {
  const std::string* after = FindHeader(refusal.headers, "Retry-After");
  if (after == nullptr || (refusal.status != 503 && refusal.status != 429)) return;
  const Duration pause = std::min(ParseRetryAfter(*after, service_now), kMost);
  const std::lock_guard lock(mutex_);
  not_before_ = std::max(not_before_, Now() + pause);
}

void Pause::Await(const std::function<bool()>& stopped) {
  MonoTime until;
  {
    const std::lock_guard lock(mutex_);
    until = not_before_;
  }
  const Duration left = std::min(until - Now(), kMost);
  if (left.ms > 0) (void)SleepUnless(stopped, left);
}

}  // namespace stoker::bucket
