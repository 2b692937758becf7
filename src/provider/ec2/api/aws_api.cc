// SPDX-License-Identifier: Apache-2.0
#include "provider/ec2/api/aws_api.h"

#include <algorithm>
#include <cstdlib>

#include "aws/sigv4.h"
#include "base/digest.h"
#include "base/text.h"
#include "net/http_date.h"
#include "provider/ec2/api/ec2_errors.h"

namespace stoker::ec2 {
namespace {

// Signatures are good for some minutes; a Date header is whole seconds, and answers take their
// time.
constexpr int64_t kTolerableSkewMs = 60'000;

const char* VersionOf(const std::string& service) {
  if (service == "iam") return "2010-05-08";
  if (service == "sts") return "2011-06-15";
  if (service == "sns") return "2010-03-31";
  return kEc2Version;
}

// Of those that speak JSON.
std::string TargetOf(const std::string& service) {
  if (service == "ec2-instance-connect") return "AWSEC2InstanceConnectService.";
  if (service == "events") return "AWSEvents.";
  if (service == "ecr") return "AmazonEC2ContainerRegistry_V20150921.";
  if (service == "secretsmanager") return "secretsmanager.";
  return service == "logs" ? "Logs_20140328." : "AmazonSSM.";
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
  request.method = call.method;
  request.target = url.prefix + call.path;
  request.headers = {{"Host", HostHeader(url)}};
  if (call.path != "/") {
    if (!call.json.empty()) request.headers.emplace_back("Content-Type", "application/json");
    request.body = call.json;
  } else if (call.json.empty()) {
    request.headers.emplace_back("Content-Type",
                                 "application/x-www-form-urlencoded; charset=utf-8");
    request.body = QueryBody(call.action, VersionOf(call.service), call.params);
  } else {
    request.headers.emplace_back("Content-Type", "application/x-amz-json-1.1");
    request.headers.emplace_back("X-Amz-Target", TargetOf(call.service) + call.action);
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
  if (auto known = Recall(call)) return std::move(*known);
  auto reply = retrying_.Call([&] { return Send(call); }, MayHelp);
  if (!reply.ok()) return reply;
  if (!reply->failure) Remember(call, *reply);
  const bool denied = reply->failure && StatusOf("", *reply->failure).Is(Code::kDenied);
  if (denied && call.keep_denial) Remember(call, Reply{"", reply->now, std::nullopt});
  return reply;
}

bool AwsApi::Forget() {
  forgotten_ = true;
  return recalled_.exchange(false);
}

void AwsApi::DropKept() {
  if (options_.memory) options_.memory->KeepOnly({});
}

// All that the answer depends on but who asks: keys change every hour, and what was kept under old
// ones is to be replaced.
std::string AwsApi::Question(const Call& call) const {
  const auto url = options_.url(call.service, call.region);
  std::string text = url.value_or("") + "\n" + call.service + "\n" + call.region + "\n" +
                     call.action + "\n" + call.method + call.path + "\n" + call.json;
  for (const auto& [name, value] : call.params) text += "\n" + name + "=" + value;
  return Sha256Hex(text);
}

// "DATE KEY DIGEST\nBODY": when, by this machine's clock; whose key; of the body.
std::optional<Reply> AwsApi::Recall(const Call& call) {
  if (call.good_for.ms <= 0 || call.anew || forgotten_ || !options_.memory) return std::nullopt;
  const auto keys = options_.credentials();
  auto kept = options_.memory->Get(Question(call));
  if (!keys.ok() || !kept) return std::nullopt;
  const size_t end = std::min(kept->find('\n'), kept->size());
  const std::vector<std::string> head = Split(kept->substr(0, end), ' ');
  if (head.size() != 3 || head[1] != keys->access_key) return std::nullopt;
  const auto at = WholeNumber(head[0], 0, int64_t{1} << 50);
  const Duration age = at ? options_.now() - WallTime{*at} : Duration::Ms(-1);
  if (age.ms < 0 || age > call.good_for) return std::nullopt;
  Reply reply;
  reply.body = kept->substr(std::min(end + 1, kept->size()));
  reply.now = Now();
  if (Sha256Hex(reply.body) != head[2]) return std::nullopt;
  recalled_ = true;
  return reply;
}

void AwsApi::Remember(const Call& call, const Reply& reply) {
  if (call.good_for.ms <= 0 || !options_.memory) return;
  const auto keys = options_.credentials();
  if (!keys.ok()) return;
  options_.memory->Keep(Question(call), std::to_string(options_.now().ms) + " " + keys->access_key +
                                            " " + Sha256Hex(reply.body) + "\n" + reply.body);
}

Result<std::string> AwsApi::Read(const Call& call, WallTime* now) {
  STOKER_ASSIGN(Reply reply, Repeat(call));
  if (reply.failure) return StatusOf(Described(call), *reply.failure);
  if (now != nullptr) *now = reply.now;
  return std::move(reply.body);
}

}  // namespace stoker::ec2
