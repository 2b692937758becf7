// SPDX-License-Identifier: Apache-2.0
// A store on a service that answers what a test tells it to.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "net/http_server.h"
#include "store/s3/s3_store.h"

namespace stoker {

inline constexpr char kDate[] = "Sun, 22 Nov 2026 10:00:00 GMT";

inline HttpResponse Refusal(int status, const std::string& code, const std::string& more = "") {
  return {status, {{"Date", kDate}}, "<Error><Code>" + code + "</Code>" + more + "</Error>"};
}
inline HttpResponse Stored(const std::string& etag) {
  return {200, {{"Date", kDate}, {"ETag", etag}}, ""};
}
inline HttpResponse Holding(const std::string& data, const std::string& checksum = "") {
  HttpResponse answer{200, {{"Date", kDate}, {"ETag", "\"e\""}, {"Last-Modified", kDate}}, data};
  if (!checksum.empty()) answer.headers.emplace_back("x-amz-checksum-crc32c", checksum);
  return answer;
}

class S3StoreTest : public ::testing::Test {
 protected:
  S3StoreTest() {
    HttpServerOptions options;
    options.max_body_bytes = 64 << 20;
    server_ = *HttpServer::Start(options, [this](const HttpRequest& request) {
      const std::lock_guard lock(mutex_);
      requests_.push_back(request);
      if (answers_.empty()) return Refusal(500, "InternalError");
      HttpResponse answer = answers_.front();
      if (answers_.size() > 1 || !forever_) answers_.pop_front();
      return answer;
    });
    S3StoreOptions store;
    store.client.bucket = "bucket";
    store.client.endpoint = "http://127.0.0.1:" + std::to_string(server_->port());
    store.client.now = [this] { return now_; };
    store.client.credentials = [this]() -> Result<AwsCredentials> {
      AwsCredentials keys;
      keys.access_key = "AK" + std::to_string(refused_);
      keys.secret_key = "top secret";
      return keys;
    };
    store.client.credentials_refused = [this] { ++refused_; };
    store.prefix = "team";
    store.part_bytes = 1000;
    store.retry.first = Duration::Ms(1);
    store.retry.longest = Duration::Ms(4);
    store_ = *S3Store::Open(store);
  }
  void Answer(std::deque<HttpResponse> answers, bool forever = false) {
    const std::lock_guard lock(mutex_);
    answers_ = std::move(answers);
    forever_ = forever;
    requests_.clear();
  }
  // "PUT /bucket/team/key" of each request.
  std::string Heard() {
    const std::lock_guard lock(mutex_);
    std::string out;
    for (const HttpRequest& request : requests_)
      out += request.method + " " + request.target + "\n";
    return out;
  }
  std::string Header(size_t request, const std::string& name) {
    const std::string* value = FindHeader(requests_.at(request).headers, name);
    return value == nullptr ? "" : *value;
  }

  std::mutex mutex_;
  std::deque<HttpResponse> answers_;
  bool forever_ = false;
  std::vector<HttpRequest> requests_;
  WallTime now_{1'795'341'600'000};  // as kDate
  int refused_ = 0;
  std::unique_ptr<HttpServer> server_;
  std::unique_ptr<S3Store> store_;
};

}  // namespace stoker
