// SPDX-License-Identifier: Apache-2.0
#include "provider/ec2/aws_api.h"

#include <cstdlib>

#include "aws/sigv4.h"
#include "base/text.h"
#include "net/http_date.h"
#include "provider/ec2/ec2_errors.h"

namespace stoker::ec2 {
namespace {

// Signatures are good for some minutes; a Date header is whole seconds, and answers take their
// time.
constexpr int64_t kTolerableSkewMs = 60'000;

const char* VersionOf(const std::string& service) {
  if (service == "iam") return "2010-05-08";
  if (service == "sts") return "2011-06-15";
  return kEc2Version;
}

// A service of the whole cloud is signed for in one region.
std::string SigningRegion(const Call& call) {
  return call.service == "iam" ? "us-east-1" : call.region;
}

bool MayHelp(const Result<Reply>& reply) {
  if (!reply.ok()) return reply.status().transient();
  if (!reply->failure) return false;
  return StatusOf("", *reply->failure).transient();
}

}  // namespace

std::string Described(const Call& call) {
  return call.action + (call.region.empty() ? "" : " in " + Printable(call.region));
}

AwsApi::AwsApi(AwsApiOptions options)
    : options_(std::move(options)), retrying_(options_.retry, options_.seed) {}

WallTime AwsApi::Now() const { return options_.now() + Duration::Ms(skew_ms_.load()); }

Result<HttpResponse> AwsApi::SendOnce(const Call& call) {
  STOKER_ASSIGN(const std::string base, options_.url(call.service, call.region));
  STOKER_ASSIGN(const HttpUrl url, ParseHttpUrl(base));
  HttpRequest request;
  request.method = "POST";
  request.target = url.prefix + "/";
  request.headers = {{"Host", HostHeader(url)}};
  if (call.json.empty()) {
    request.headers.emplace_back("Content-Type",
                                 "application/x-www-form-urlencoded; charset=utf-8");
    request.body = QueryBody(call.action, VersionOf(call.service), call.params);
  } else {
    request.headers.emplace_back("Content-Type", "application/x-amz-json-1.1");
    request.headers.emplace_back("X-Amz-Target", "AmazonSSM." + call.action);
    request.body = call.json;
  }
  STOKER_ASSIGN(const AwsCredentials credentials, options_.credentials());
  const AwsSigner signer(SigningRegion(call), call.service);
  STOKER_TRY(signer.Sign(credentials, Now(), &request));
  return options_.http(url, request);
}

void AwsApi::NoteClock(const HttpResponse& answer, bool refused) {
  const std::string* date = FindHeader(answer.headers, "Date");
  if (date == nullptr) return;
  const auto theirs = ParseHttpDate(*date);
  if (!theirs.ok()) return;
  const int64_t skew = (*theirs - options_.now()).ms;
  skew_ms_ = refused || std::abs(skew) > kTolerableSkewMs ? skew : 0;
}

Result<Reply> AwsApi::Send(const Call& call) {
  if (!IsSafeName(call.region)) {
    return Status(Code::kInvalid, "not an AWS region: '" + Printable(call.region) + "'",
                  "Correct the region of 'infra', or AWS_REGION");
  }
  for (int time = 0;; ++time) {
    auto answer = SendOnce(call);
    if (!answer.ok()) return answer.status().WithContext(Described(call));
    Reply reply;
    const bool ok = answer->status / 100 == 2;
    if (!ok) reply.failure = ParseFailure(*answer);
    const bool skewed = reply.failure && IsSkewed(*reply.failure);
    NoteClock(*answer, skewed);
    if (reply.failure && time == 0) {
      const bool expired = IsExpired(*reply.failure);
      if (expired && options_.credentials_refused) options_.credentials_refused();
      if (skewed || expired) continue;
    }
    reply.now = Now();
    reply.body = std::move(answer->body);
    return reply;
  }
}

Result<Reply> AwsApi::Repeat(const Call& call) {
  return retrying_.Call([&] { return Send(call); }, MayHelp);
}

Result<std::string> AwsApi::Read(const Call& call, WallTime* now) {
  STOKER_ASSIGN(Reply reply, Repeat(call));
  if (reply.failure) return StatusOf(Described(call), *reply.failure);
  if (now != nullptr) *now = reply.now;
  return std::move(reply.body);
}

}  // namespace stoker::ec2
