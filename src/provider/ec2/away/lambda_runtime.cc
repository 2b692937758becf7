// SPDX-License-Identifier: Apache-2.0
#include "provider/ec2/away/lambda_runtime.h"

#include <utility>

#include "base/json_fields.h"
#include "base/text.h"
#include "net/http_client.h"

namespace stoker::ec2 {
namespace {

constexpr char kBase[] = "/2018-06-01/runtime/invocation/";
// The process is frozen while nobody calls: the wait is as long as it takes.
constexpr Duration kWait = Duration::Hours(24);
constexpr int64_t kMostCallBytes = 8 << 20;

Result<LambdaCall> NextCall(const HttpUrl& url) {
  HttpClientOptions options;
  options.total_timeout = kWait;
  options.max_body_bytes = kMostCallBytes;
  HttpRequest request;
  request.target = std::string(kBase) + "next";
  STOKER_ASSIGN(HttpResponse answer, HttpCall(url, std::move(request), options));
  if (answer.status != 200) {
    return Status(Code::kUnavailable,
                  "the runtime API answers " + std::to_string(answer.status) + " to 'next'");
  }
  const std::string* id = FindHeader(answer.headers, "Lambda-Runtime-Aws-Request-Id");
  const std::string* deadline = FindHeader(answer.headers, "Lambda-Runtime-Deadline-Ms");
  if (id == nullptr || !IsSafeName(*id)) {
    return Status(Code::kCorrupt, "the runtime API names no request");
  }
  LambdaCall call;
  call.id = *id;
  if (deadline != nullptr) {
    call.deadline.ms = WholeNumber(*deadline, 0, int64_t{1} << 50).value_or(0);
  }
  call.event = std::move(answer.body);
  return call;
}

Status Post(const HttpUrl& url, const std::string& target, std::string body) {
  HttpRequest request;
  request.method = "POST";
  request.target = target;
  request.headers = {{"Content-Type", "application/json"}};
  request.body = std::move(body);
  STOKER_ASSIGN(const HttpResponse answer, HttpCall(url, std::move(request)));
  if (answer.status / 100 == 2) return Status::Ok();
  return Status(Code::kUnavailable,
                "the runtime API answers " + std::to_string(answer.status) + " to " + target);
}

std::string ErrorBody(const Status& why) {
  return json::Dump(
      {{"errorMessage", why.ToString()}, {"errorType", std::string(CodeName(why.code()))}});
}

}  // namespace

Status ServeLambda(const std::string& api,
                   const std::function<Result<std::string>(const LambdaCall&)>& handle) {
  STOKER_ASSIGN(const HttpUrl url, ParseHttpUrl("http://" + api));
  for (;;) {
    const auto call = NextCall(url);
    if (call.status().Is(Code::kTimeout)) continue;
    if (!call.ok()) return call.status();
    auto answer = handle(*call);
    const std::string target = kBase + call->id + (answer.ok() ? "/response" : "/error");
    STOKER_TRY(Post(url, target, answer.ok() ? std::move(*answer) : ErrorBody(answer.status())));
  }
}

}  // namespace stoker::ec2
