// SPDX-License-Identifier: Apache-2.0
// Calls of Amazon's services that speak forms and XML (EC2, IAM, STS) or JSON (SSM). Inside
// provider/ec2 only.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "aws/credentials.h"
#include "base/status.h"
#include "base/time.h"
#include "net/http_message.h"
#include "net/retry.h"
#include "provider/cloud/retrying.h"
#include "provider/ec2/ec2_query.h"

namespace stoker::ec2 {

struct AwsApiOptions {
  // Thread-safe, and quick but when they must be renewed.
  std::function<Result<AwsCredentials>()> credentials;
  // The service takes the present ones no longer: the next ones should be new. May be empty.
  std::function<void()> credentials_refused;
  // The base URL of "ec2", "iam", "sts" or "ssm" in a region.
  std::function<Result<std::string>(const std::string& service, const std::string& region)> url;
  std::function<WallTime()> now;
  uint64_t seed = 0;
  RetryPolicy retry{4, Duration::Ms(200), Duration::Seconds(5)};  // of Read
  // Any status is an answer; thread-safe.
  std::function<Result<HttpResponse>(const HttpUrl& url, const HttpRequest& request)> http;
};

struct Call {
  std::string service;  // "ec2"
  std::string region;
  std::string action;
  Params params = {};     // of a form
  std::string json = "";  // of "ssm", instead
};

// What a service said. Any failure() is its word; where nobody answered there is no reply at all.
struct Reply {
  std::string body;
  WallTime now;                    // the service's clock
  std::optional<Failure> failure;  // it refuses
};

// Thread-safe.
class AwsApi {
 public:
  explicit AwsApi(AwsApiOptions options);

  // Sends once; a second time only what was refused for an old signature or old keys, so did
  // nothing. kUnavailable, kTimeout: it may have taken effect; kDenied: no credentials, a
  // certificate.
  Result<Reply> Send(const Call& call);
  // For what only reads: again, where that may help. The body; errors are those of StatusOf.
  Result<std::string> Read(const Call& call, WallTime* now = nullptr);
  // For what changes something and may be repeated: as Read, but tells a failure by its code.
  Result<Reply> Repeat(const Call& call);

  // By the service's clock, as far as it is known.
  WallTime Now() const;

 private:
  Result<HttpResponse> SendOnce(const Call& call);
  void NoteClock(const HttpResponse& answer, bool refused);

  const AwsApiOptions options_;
  std::atomic<int64_t> skew_ms_ = 0;  // the service's clock minus ours
  cloud::Retrying retrying_;
};

// "RunInstances in us-east-1"
std::string Described(const Call& call);

}  // namespace stoker::ec2
