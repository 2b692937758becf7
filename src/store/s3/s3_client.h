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

#include "aws/config.h"
#include "aws/credentials.h"
#include "aws/sigv4.h"
#include "net/http_client.h"
#include "store/bucket/carrier.h"

namespace stoker::s3 {

struct Options {
  std::string bucket;
  std::string region;              // "" = us-east-1, corrected by the service's own answer
  std::string endpoint;            // "" = Amazon's, else "https://host[:port]" of another service
  AwsVariant variant = {};         // which of Amazon's
  std::optional<bool> path_style;  // unset: for endpoints and for bucket names with dots
  // Thread-safe, and quick but when they must be renewed.
  std::function<Result<AwsCredentials>()> credentials;
  // The service takes the present ones no longer: the next ones should be new. May be empty.
  std::function<void()> credentials_refused;
  std::function<WallTime()> now;
  // The service's pauses are not waited for once it says so; thread-safe, may be empty.
  std::function<bool()> stopped;
  HttpPoolOptions http;
};

struct Failure;
using bucket::Carrier;
using bucket::Request;

// Thread-safe. Sends each request once; only one that was refused because it went to the wrong
// region is sent again, to the right one. A HEAD that is refused for a reason that it cannot tell,
// having no body, is followed by a GET of the first byte, which can.
class Client : public Carrier {
 public:
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
  void NoteClock(const HttpResponse& answer);
  Result<std::unique_ptr<HttpAnswer>> AskWhy(const Place& place, const Request& head);
  Status Refused(const Request& request, HttpAnswer& answer, std::string* region);
  Status Learn(const Request& request, const HttpResponse& answer, const Failure& failure);

  const Options options_;
  mutable std::mutex mutex_;
  std::string region_;
  Place place_;
  bucket::Pause pause_;
  std::atomic<int64_t> skew_ms_ = 0;  // the service's clock minus ours
  HttpPool pool_{options_.http};      // last: its answers use nothing of ours
};

}  // namespace stoker::s3
