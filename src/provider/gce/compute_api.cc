// SPDX-License-Identifier: Apache-2.0
#include "provider/gce/compute_api.h"

#include <cstdlib>

#include "base/text.h"
#include "net/http_date.h"
#include "net/percent.h"
#include "provider/gce/gce_errors.h"

namespace stoker::gce {
namespace {

// A Date header is whole seconds, and answers take their time.
constexpr int64_t kTolerableSkewMs = 60'000;

bool MayHelp(const Result<Reply>& reply) {
  if (!reply.ok()) return reply.status().transient();
  return reply->failure && StatusOf("", *reply->failure).transient();
}

std::string Target(const HttpUrl& url, const Call& call) {
  std::string out = url.prefix + "/" + call.path;
  const char* separator = "?";
  for (const auto& [name, value] : call.query) {
    out += separator + PercentEncode(name) + "=" + PercentEncode(value);
    separator = "&";
  }
  return out;
}

}  // namespace

std::string Described(const Call& call) { return call.method + " " + Printable(call.path); }

ComputeApi::ComputeApi(ComputeApiOptions options)
    : options_(std::move(options)), retrying_(options_.retry, options_.seed) {}

WallTime ComputeApi::Now() const { return options_.now() + Duration::Ms(skew_ms_.load()); }

Result<HttpResponse> ComputeApi::SendOnce(const Call& call, const GoogleToken& token) {
  STOKER_ASSIGN(const HttpUrl url, ParseHttpUrl(options_.base));
  HttpRequest request;
  request.method = call.method;
  request.target = Target(url, call);
  request.headers = {{"Host", HostHeader(url)}};
  if (!token.secret.empty()) {
    request.headers.emplace_back("Authorization", "Bearer " + token.secret);
  }
  if (!token.quota_project.empty()) {
    request.headers.emplace_back("x-goog-user-project", token.quota_project);
  }
  if (call.method == "POST" || call.method == "PATCH") {
    request.headers.emplace_back("Content-Type", "application/json");
    request.body = call.body;
  }
  return options_.http(url, request);
}

Result<Reply> ComputeApi::Send(const Call& call) {
  for (int time = 0;; ++time) {
    STOKER_ASSIGN(const GoogleToken token, options_.token());
    auto answer = SendOnce(call, token);
    if (!answer.ok()) return answer.status().WithContext(Described(call));
    if (const std::string* date = FindHeader(answer->headers, "Date")) {
      const auto theirs = ParseHttpDate(*date);
      const int64_t skew = theirs.ok() ? (*theirs - options_.now()).ms : 0;
      skew_ms_ = std::abs(skew) > kTolerableSkewMs ? skew : 0;
    }
    Reply reply;
    if (answer->status / 100 != 2) reply.failure = ParseFailure(*answer);
    if (reply.failure && IsUnauthenticated(*reply.failure) && time == 0 && options_.token_refused) {
      options_.token_refused(token);
      continue;
    }
    reply.now = Now();
    reply.body = std::move(answer->body);
    return reply;
  }
}

Result<Reply> ComputeApi::Repeat(const Call& call) {
  return retrying_.Call([&] { return Send(call); }, MayHelp);
}

Result<std::string> ComputeApi::Read(const Call& call, WallTime* now) {
  STOKER_ASSIGN(Reply reply, Repeat(call));
  if (reply.failure) return StatusOf(Described(call), *reply.failure);
  if (now != nullptr) *now = reply.now;
  return std::move(reply.body);
}

}  // namespace stoker::gce
