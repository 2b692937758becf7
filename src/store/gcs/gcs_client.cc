// SPDX-License-Identifier: Apache-2.0
#include "store/gcs/gcs_client.h"

#include <cstdlib>
#include <utility>

#include "base/text.h"
#include "net/http_date.h"
#include "net/percent.h"
#include "store/gcs/gcs_answer.h"

namespace stoker::gcs {
namespace {

constexpr char kGoogle[] = "https://storage.googleapis.com";
constexpr int64_t kMaxErrorBody = 256 << 10;
// Below this, a Date header of whole seconds says nothing.
constexpr int64_t kTolerableSkewMs = 5'000;

// Rules for bucket names, those with dots included: nothing that could change a URL.
bool IsBucketName(const std::string& bucket) {
  return bucket.size() >= 3 && bucket.size() <= 222 &&
         bucket.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789.-_") == std::string::npos &&
         bucket.find("..") == std::string::npos && bucket.front() != '.' && bucket.back() != '.';
}

}  // namespace

Result<std::unique_ptr<Client>> Client::Make(Options options) {
  if (!IsBucketName(options.bucket)) {
    return Status(Code::kInvalid, "'" + Printable(options.bucket) + "' is no bucket's name",
                  "Name the store as gs://bucket or gs://bucket/prefix");
  }
  auto url = ParseHttpUrl(options.endpoint.empty() ? kGoogle : options.endpoint);
  if (!url.ok()) return url.status().WithContext("the endpoint of the store");
  return std::unique_ptr<Client>(new Client(std::move(options), std::move(*url)));
}

std::string Client::Describe(const Request& request) const {
  return request.method + " gs://" + options_.bucket + "/" + Printable(request.key);
}

WallTime Client::ServiceNow() const { return options_.now() + Duration::Ms(skew_ms_.load()); }

Result<std::unique_ptr<HttpAnswer>> Client::SendOnce(const Request& request,
                                                     const GoogleToken& token) {
  HttpRequest http;
  http.method = request.method;
  http.target = url_.prefix + request.target;
  http.headers = request.headers;
  http.headers.emplace_back("Host", HostHeader(url_));
  if (!token.secret.empty()) http.headers.emplace_back("Authorization", "Bearer " + token.secret);
  if (!token.quota_project.empty()) {
    http.headers.emplace_back("x-goog-user-project", token.quota_project);
  }
  http.body = request.body;
  pause_.Await(options_.stopped);
  return pool_.Open(url_, http, request.file);
}

Result<std::unique_ptr<HttpAnswer>> Client::Open(const Request& request) {
  for (int time = 0;; ++time) {
    STOKER_ASSIGN(const GoogleToken token, options_.token());
    auto answer = SendOnce(request, token);
    if (!answer.ok()) return answer.status().WithContext(Describe(request));
    const HttpResponse& head = (*answer)->head();
    const int64_t skew = (DateOf(head.headers, options_.now()) - options_.now()).ms;
    skew_ms_ = std::abs(skew) > kTolerableSkewMs ? skew : 0;
    if (head.status / 100 == 2 || head.status == 308) return answer;
    pause_.Note(head, ServiceNow());
    if (head.status == 401 && time == 0 && options_.token_refused && !token.secret.empty()) {
      options_.token_refused(token);
      continue;
    }
    // What was cut off may have said that it can be tried again.
    const auto refusal = bucket::WholeAnswer(**answer, kMaxErrorBody);
    if (!refusal.ok()) return refusal.status().WithContext(Describe(request));
    return FailureStatus(Describe(request), *refusal);
  }
}

Result<HttpResponse> Client::Call(const Request& request) {
  STOKER_ASSIGN(const std::unique_ptr<HttpAnswer> answer, Open(request));
  auto whole = bucket::WholeAnswer(*answer, options_.http.max_body_bytes);
  if (!whole.ok()) return whole.status().WithContext(Describe(request));
  return whole;
}

// A name is one segment of the path, its slashes encoded too.
Request OnObject(const std::string& bucket, const char* method, const std::string& key,
                 const std::string& query) {
  Request request{.method = method, .key = key};
  request.target = "/storage/v1/b/" + bucket + "/o/" + PercentEncode(key);
  if (!query.empty()) request.target += "?" + query;
  return request;
}

Request OnList(const std::string& bucket, const std::string& query) {
  Request request{.method = "GET"};
  request.target = "/storage/v1/b/" + bucket + "/o?" + query;
  return request;
}

Request OnUpload(const std::string& bucket, const char* type, const std::string& key,
                 const std::string& query) {
  Request request{.method = "POST", .key = key};
  request.target = "/upload/storage/v1/b/" + bucket + "/o?uploadType=" + type +
                   "&name=" + PercentEncode(key) + (query.empty() ? "" : "&" + query);
  return request;
}

// Its host is not asked about: requests with our token go to our endpoint and nowhere else.
Result<Request> OnSession(const std::string& key, const std::string& location) {
  Request request{.method = "PUT", .key = key};
  const size_t scheme = location.find("://");
  const size_t path = scheme == std::string::npos ? 0 : location.find('/', scheme + 3);
  if (path == std::string::npos || location.empty() || location[path] != '/' ||
      location.find_first_of(" \r\n#") != std::string::npos) {
    return Status(Code::kCorrupt, "the service gives no address for the upload's session");
  }
  request.target = location.substr(path);
  return request;
}

}  // namespace stoker::gcs
