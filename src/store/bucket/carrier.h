// SPDX-License-Identifier: Apache-2.0
// What the adapters of buckets share: requests, and whoever carries them. Inside store/ only.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "base/status.h"
#include "base/time.h"
#include "net/http_client.h"

namespace stoker::bucket {

struct Request {
  std::string method;
  std::string key = "";    // below the bucket; "" = the bucket itself
  std::string query = "";  // encoded, without '?'
  HttpHeaders headers = {};
  std::string body = "";
  HttpFileBody file = {};  // behind `body`
  // Sent twice, it may be refused for what it did itself the first time.
  bool conditional = false;
  // Where the adapter knows the whole path and query: these, whatever `key` and `query` are.
  std::string target = "";
  // The service may answer 200 before it knows, and say in the body that it failed.
  bool may_fail_late = false;
};

// Metadata of an object whose owner may run it; without it, nobody is said to.
inline constexpr char kExecutable[] = "stoker-executable";
inline constexpr char kIsExecutable[] = "1";

// Cache-Control of what is written for browsers and may be written again.
inline constexpr char kAskAnew[] = "no-cache";

// Whoever carries requests to the bucket. Thread-safe.
class Carrier {
 public:
  virtual ~Carrier() = default;
  // A 2xx answer, else what the service's refusal means. Its body is read to the end.
  virtual Result<HttpResponse> Call(const Request& request) = 0;
  // The same, with the body to be read.
  virtual Result<std::unique_ptr<HttpAnswer>> Open(const Request& request) = 0;
  // "PUT s3://bucket/key" for messages.
  virtual std::string Describe(const Request& request) const = 0;
  // By the service's clock, as far as the last answer told; else this machine's.
  virtual WallTime ServiceNow() const = 0;
};

// The head of `answer` with its whole body. kNoSpace: more than `max_bytes`.
Result<HttpResponse> WholeAnswer(HttpAnswer& answer, int64_t max_bytes);

// Sleeps, but no longer than until `stopped` says so (asked ten times a second; empty: never).
// False: it does.
bool SleepUnless(const std::function<bool()>& stopped, Duration delay);

// While the service asks for a pause (Retry-After), all requests wait for it. Thread-safe.
class Pause {
 public:
  static constexpr Duration kMost = Duration::Seconds(20);

  void Note(const HttpResponse& refusal, WallTime service_now);
  void Await(const std::function<bool()>& stopped);

 private:
  std::mutex mutex_;
  MonoTime not_before_{};
};

}  // namespace stoker::bucket
