// SPDX-License-Identifier: Apache-2.0
// Requests to one bucket of Google Cloud Storage by its JSON API: where they go, and what they
// carry. Inside store/ only. Source: "Cloud Storage JSON API" (endpoints, encoding of names).
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "google/token.h"
#include "store/bucket/carrier.h"

namespace stoker::gcs {

using bucket::Request;

struct Options {
  std::string bucket;
  std::string endpoint;  // "" = Google's, else "https://host[:port]" of another service
  // Thread-safe, and quick but when it must be renewed.
  std::function<Result<GoogleToken>()> token;
  // The service does not take that one: the next one should be another. May be empty.
  std::function<void(const GoogleToken&)> token_refused;
  std::function<WallTime()> now;
  // The service's pauses are not waited for once it says so; thread-safe, may be empty.
  std::function<bool()> stopped;
  HttpPoolOptions http;
};

// Thread-safe. Sends each request once; only one whose token was refused is sent again, with
// another token. An answer of 308 counts as 2xx: "go on", of a resumable upload.
class Client : public bucket::Carrier {
 public:
  static Result<std::unique_ptr<Client>> Make(Options options);

  Result<HttpResponse> Call(const Request& request) override;
  Result<std::unique_ptr<HttpAnswer>> Open(const Request& request) override;
  std::string Describe(const Request& request) const override;
  WallTime ServiceNow() const override;

 private:
  Client(Options options, HttpUrl url) : options_(std::move(options)), url_(std::move(url)) {}
  Result<std::unique_ptr<HttpAnswer>> SendOnce(const Request& request, const GoogleToken& token);

  const Options options_;
  const HttpUrl url_;
  bucket::Pause pause_;
  std::atomic<int64_t> skew_ms_ = 0;  // the service's clock minus ours
  HttpPool pool_{options_.http};      // last: its answers use nothing of ours
};

// Requests, to be completed by the caller. `query` is encoded, without '?'.
Request OnObject(const std::string& bucket, const char* method, const std::string& key,
                 const std::string& query = "");
Request OnList(const std::string& bucket, const std::string& query);
// `type` as "multipart"; `query` has the condition, or nothing.
Request OnUpload(const std::string& bucket, const char* type, const std::string& key,
                 const std::string& query);
// To the session that the service named in `location`; its path is a secret of sorts: who knows it
// may write. kCorrupt: not an address.
Result<Request> OnSession(const std::string& key, const std::string& location);

}  // namespace stoker::gcs
