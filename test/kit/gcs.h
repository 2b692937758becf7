// SPDX-License-Identifier: Apache-2.0
// A store on a model of Google Cloud Storage that does what a test tells it to.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "net/http_server.h"
#include "store/gcs/gcs_store.h"
#include "sys/file.h"
#include "test/kit/gcs_model.h"

namespace stoker {

using Fault = GcsModel::Fault;

class GcsStoreTest : public ::testing::Test {
 protected:
  explicit GcsStoreTest(Duration idle = Duration::Seconds(15)) {
    HttpServerOptions options;
    options.max_body_bytes = 64 << 20;
    options.idle_timeout = idle;
    server_ = *HttpServer::Start(
        options, [this](const HttpRequest& request) { return model_.Serve(request); });
    GcsStoreOptions store;
    store.client.bucket = "bucket";
    store.client.endpoint = "http://127.0.0.1:" + std::to_string(server_->port());
    store.client.now = [] { return WallTime{1'795'341'600'000}; };
    store.client.token = [this]() -> Result<GoogleToken> {
      GoogleToken token;
      token.secret = "top-secret-" + std::to_string(refused_);
      token.quota_project = "billed";
      return token;
    };
    store.client.token_refused = [this](const GoogleToken&) { ++refused_; };
    store.prefix = "team";
    store.chunk_bytes = 256 << 10;
    store.part_bytes = 1000;
    store.retry.first = Duration::Ms(1);
    store.retry.longest = Duration::Ms(4);
    store_ = *GcsStore::Open(store);
  }
  // These faults, one a request; then none.
  void Meet(std::vector<Fault> faults) {
    model_.requests.clear();
    model_.fault = [faults, next = size_t{0}](const HttpRequest&) mutable {
      return next < faults.size() ? faults[next++] : Fault::kNone;
    };
  }
  std::string Heard() const {
    std::string out;
    for (const HttpRequest& request : model_.requests) {
      const std::string* range = FindHeader(request.headers, "Content-Range");
      out += request.method + " " + request.target;
      out += (range == nullptr ? "" : " " + *range) + "\n";
    }
    return out;
  }
  Result<Version> Send(const std::string& key, const std::string& data, bool from_file,
                       const Condition& condition) {
    auto upload = store_->BeginUpload(key, condition);
    if (!upload.ok()) return upload.status();
    const auto size = static_cast<int64_t>(data.size());
    if (from_file) {
      const sys::ScopedFd file(memfd_create("data", 0));
      EXPECT_EQ(write(file.get(), data.data(), data.size()), size);
      STOKER_TRY((*upload)->WriteFile(file.get(), size));
    } else {
      STOKER_TRY((*upload)->Write(data));
    }
    return (*upload)->Commit();
  }

  GcsModel model_;
  int refused_ = 0;
  std::unique_ptr<HttpServer> server_;
  std::unique_ptr<GcsStore> store_;
};

}  // namespace stoker
