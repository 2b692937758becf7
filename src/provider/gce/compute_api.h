// SPDX-License-Identifier: Apache-2.0
// Calls of Compute Engine's REST API. Inside provider/gce only.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "base/time.h"
#include "google/token.h"
#include "net/http_message.h"
#include "net/retry.h"
#include "provider/cloud/retrying.h"
#include "provider/gce/gce_answer.h"

namespace stoker::gce {

struct ComputeApiOptions {
  // Thread-safe, and quick but when it must be renewed.
  std::function<Result<GoogleToken>()> token;
  // The service takes that one no longer: the next one should be new. May be empty.
  std::function<void(const GoogleToken&)> token_refused;
  std::string base;  // "https://compute.googleapis.com/compute/v1"
  std::function<WallTime()> now;
  uint64_t seed = 0;
  RetryPolicy retry{4, Duration::Ms(200), Duration::Seconds(5)};  // of Read and Repeat
  // Any status is an answer; thread-safe.
  std::function<Result<HttpResponse>(const HttpUrl& url, const HttpRequest& request)> http;
};

inline constexpr int kMostPages = 1000;  // of one list: more have no end

using Query = std::vector<std::pair<std::string, std::string>>;

struct Call {
  std::string method;  // "GET"
  std::string path;    // below the base: "projects/p/zones/z/instances"
  Query query = {};
  std::string body = "";  // JSON
};

// What the service said. Any failure is its word; where nobody answered there is no reply at all.
struct Reply {
  std::string body;
  WallTime now;                    // the service's clock
  std::optional<Failure> failure;  // it refuses
};

// Thread-safe.
class ComputeApi {
 public:
  explicit ComputeApi(ComputeApiOptions options);

  // Sends once; a second time only what was refused for an old token, so did nothing.
  // kUnavailable, kTimeout: it may have taken effect; kDenied: no credentials, a certificate.
  Result<Reply> Send(const Call& call);
  // For what only reads: again, where that may help. The body; errors are those of StatusOf.
  Result<std::string> Read(const Call& call, WallTime* now = nullptr);
  // For what changes something and may be repeated: as Read, but tells a failure by its code.
  Result<Reply> Repeat(const Call& call);

  // By the service's clock, as far as it is known.
  WallTime Now() const;

 private:
  Result<HttpResponse> SendOnce(const Call& call, const GoogleToken& token);

  const ComputeApiOptions options_;
  std::atomic<int64_t> skew_ms_ = 0;  // the service's clock minus ours
  cloud::Retrying retrying_;
};

// "GET projects/p/aggregated/instances"
std::string Described(const Call& call);

}  // namespace stoker::gce
