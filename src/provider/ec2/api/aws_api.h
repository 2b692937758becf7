// SPDX-License-Identifier: Apache-2.0
// Calls of Amazon's services that speak forms and XML (EC2, IAM, STS), JSON (SSM, Secrets Manager,
// EventBridge, CloudWatch Logs, ECR) or REST (Lambda). Inside provider, vault and images/role only.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "aws/credentials.h"
#include "base/status.h"
#include "base/time.h"
#include "net/http_connection.h"
#include "net/http_message.h"
#include "net/retry.h"
#include "port/cache.h"
#include "provider/cloud/retrying.h"
#include "provider/ec2/api/ec2_query.h"

namespace stoker::ec2 {

struct AwsApiOptions {
  // Thread-safe, and quick but when they must be renewed.
  std::function<Result<AwsCredentials>()> credentials;
  // The service takes the present ones no longer: the next ones should be new. May be empty.
  std::function<void()> credentials_refused;
  // The base URL of "ec2", "iam", "sts", "ssm", "secretsmanager" or "ecr" in a region.
  std::function<Result<std::string>(const std::string& service, const std::string& region)> url;
  std::function<WallTime()> now;
  uint64_t seed = 0;
  RetryPolicy retry{4, Duration::Ms(200), Duration::Seconds(5)};  // of Read
  // Any status is an answer; thread-safe.
  std::function<Result<HttpResponse>(const HttpUrl& url, const HttpRequest& request)> http;
  // Where answers that stay true for a while are kept, see Call::good_for; null: nowhere.
  std::shared_ptr<Cache> memory;
};

struct Call {
  std::string service;  // "ec2"
  std::string region;
  std::string action;
  Params params = {};     // of a form
  std::string json = "";  // of those that speak JSON, instead
  // Of "lambda": "GET" and "/2015-03-31/functions/NAME"; `action` is its name for people.
  std::string method = "POST";
  std::string path = "/";
  // An answer to the same question, asked with the same keys, will do if it is not older.
  Duration good_for = {};
  bool anew = false;  // such an answer will not do, but this one is kept for others
  // That the asker may not ask is kept, too, as an answer without a body: what is asked as a help
  // alone must not cost each command.
  bool keep_denial = false;
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
  // For what may be repeated: as Read, but tells a failure by its code.
  Result<Reply> Repeat(const Call& call);

  // By the service's clock, as far as it is known.
  WallTime Now() const;

  // True where any answer was an old one; from now on none is. Whoever refuses asks this first: a
  // no is never said from memory.
  bool Forget();
  // A service does not know what an old answer named: nobody is told any of them again.
  void DropKept();

 private:
  std::string Question(const Call& call) const;
  std::optional<Reply> Recall(const Call& call);
  void Remember(const Call& call, const Reply& reply);
  Result<HttpResponse> SendOnce(const Call& call);
  void NoteClock(const HttpResponse& answer, bool refused);

  const AwsApiOptions options_;
  std::atomic<int64_t> skew_ms_ = 0;  // the service's clock minus ours
  std::atomic<bool> recalled_ = false, forgotten_ = false;
  cloud::Retrying retrying_;
};

// "RunInstances in us-east-1"
std::string Described(const Call& call);

}  // namespace stoker::ec2

namespace stoker {

// The credentials, the region and the addresses that the user's other AWS tools would use (aws/).
// Sends nothing yet. `memory`: see ec2::AwsApiOptions. Errors: those of ReadAwsConfig.
Result<std::shared_ptr<ec2::AwsApi>> MakeAwsApi(
    std::shared_ptr<Cache> memory = nullptr, std::optional<HttpTimeouts> timeouts = std::nullopt);

}  // namespace stoker
