// SPDX-License-Identifier: Apache-2.0
// Requests to one S3 bucket: where they go, how they are signed, what their answers mean. Inside
// store/ only.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "aws/credentials.h"
#include "aws/sigv4.h"
#include "net/http_client.h"

namespace stoker::s3 {

struct Options {
  std::string bucket;
  std::string region;              // "" = us-east-1, corrected by the service's own answer
  std::string endpoint;            // "" = Amazon's, else "https://host[:port]" of another service
  std::optional<bool> path_style;  // unset: for endpoints and for bucket names with dots
  // Thread-safe, and quick but when they must be renewed.
  std::function<Result<AwsCredentials>()> credentials;
  // The service takes the present ones no longer: the next ones should be new. May be empty.
  std::function<void()> credentials_refused;
  std::function<WallTime()> now;
  HttpPoolOptions http;
};

struct Request {
  std::string method;
  std::string key;    // below the bucket; "" = the bucket itself
  std::string query;  // encoded, without '?'
  HttpHeaders headers;
  std::string body;
  HttpFileBody file;  // instead of `body`
  // Sent twice, it may be refused for what it did itself the first time.
  bool conditional = false;
};

// Whoever carries requests to the bucket. Thread-safe.
class Carrier {
 public:
  virtual ~Carrier() = default;
  // A 2xx answer, else what FailureStatus makes of it. Its body is read to the end.
  virtual Result<HttpResponse> Call(const Request& request) = 0;
  // The same, with the body to be read.
  virtual Result<std::unique_ptr<HttpAnswer>> Open(const Request& request) = 0;
  // "PUT s3://bucket/key" for messages.
  virtual std::string Describe(const Request& request) const = 0;
  // By the service's clock, as far as the last answer told; else this machine's.
  virtual WallTime ServiceNow() const = 0;
};

// Thread-safe. Sends each request once; only one that was refused because it went to the wrong
// region is sent again, to the right one. While the service asks for a pause (Retry-After), all
// requests wait for it, at most kMostPause.
class Client : public Carrier {
 public:
  static constexpr Duration kMostPause = Duration::Seconds(20);

  static Result<std::unique_ptr<Client>> Make(Options options);

  Result<HttpResponse> Call(const Request& request) override;
  Result<std::unique_ptr<HttpAnswer>> Open(const Request& request) override;
  std::string Describe(const Request& request) const override;
  WallTime ServiceNow() const override;

 private:
  explicit Client(Options options) : options_(std::move(options)) {}
  struct Place {
    HttpUrl url;
    std::string path;  // before "/key"
    std::shared_ptr<AwsSigner> signer;
  };
  Result<Place> FindPlace(const std::string& region) const;
  Result<std::unique_ptr<HttpAnswer>> SendOnce(const Place& place, const Request& request);
  Status Refused(const Request& request, HttpAnswer& answer, std::string* region);
  void NotePause(const HttpResponse& head);
  void AwaitPause();

  const Options options_;
  mutable std::mutex mutex_;
  std::string region_;
  Place place_;
  MonoTime not_before_{};
  std::atomic<int64_t> skew_ms_ = 0;  // the service's clock minus ours
  HttpPool pool_{options_.http};      // last: its answers use nothing of ours
};

}  // namespace stoker::s3
