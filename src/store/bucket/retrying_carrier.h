// SPDX-License-Identifier: Apache-2.0
// Asks again where that is safe and may help; inside store/ only.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>

#include "base/prng.h"
#include "net/retry.h"
#include "store/bucket/carrier.h"

namespace stoker::bucket {

// A carrier that repeats what failed in passing: throttled, unavailable, no answer. A conditional
// request only where the service said that it did nothing with it: whether an unanswered one took
// effect, the caller finds out from what is there. Thread-safe.
class RetryingCarrier : public Carrier {
 public:
  // `inner` outlives it. Once `stopped` says so (thread-safe, asked ten times a second; empty:
  // never), the failure at hand stands and nothing is waited for any more.
  RetryingCarrier(Carrier& inner, RetryPolicy policy, uint64_t seed, std::function<bool()> stopped);

  Result<HttpResponse> Call(const Request& request) override;
  Result<std::unique_ptr<HttpAnswer>> Open(const Request& request) override;
  std::string Describe(const Request& request) const override { return inner_.Describe(request); }
  WallTime ServiceNow() const override { return inner_.ServiceNow(); }

  // Not repeated: for requests whose failure asks for something else than the same again.
  Result<HttpResponse> Once(const Request& request);

  // Waits before try number `next` of something; false when there is to be none.
  bool Again(int next, const Status& failure, bool conditional);
  // How often the service said that it is too much.
  int64_t throttled() const { return throttled_; }

 private:
  Carrier& inner_;
  const RetryPolicy policy_;
  const std::function<bool()> stopped_;
  RetryBudget budget_;
  std::atomic<int64_t> throttled_ = 0;
  std::mutex mutex_;
  Prng prng_;
};

}  // namespace stoker::bucket
