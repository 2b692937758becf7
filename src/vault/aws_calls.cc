// SPDX-License-Identifier: Apache-2.0
// Sources: "Common errors" and those of each action (API references of SSM and Secrets Manager).
#include "vault/aws_calls.h"

#include "aws/account/account.h"
#include "aws/config.h"
#include "base/text.h"
#include "provider/ec2/api/ec2_errors.h"

namespace stoker::vault {
namespace {

bool Is(const std::string& code, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (code == name) return true;
  }
  return false;
}

// "… is not authorized to perform: ssm:GetParameter on resource: ARN because …".
std::string LackedRight(const std::string& message, const std::string& action) {
  const auto after = [&](std::string_view mark) -> std::string {
    const size_t at = message.find(mark);
    if (at == std::string::npos) return "";
    const size_t begin = at + mark.size();
    return message.substr(begin, message.find(' ', begin) - begin);
  };
  const std::string right = after("perform: ");
  const std::string on = after("on resource: ");
  return (right.empty() ? action : right) + (on.empty() ? "" : " on " + on);
}

Status Refused(const AwsAsk& ask, const ec2::Failure& failure) {
  const std::string what = ask.what + " in " + ask.region;
  const std::string& code = failure.code;
  if (Is(code, {"AccessDeniedException", "AccessDenied"})) {
    return Status(Code::kDenied,
                  what + ": who asks has no right " +
                      LackedRight(failure.message, ask.service + ":" + ask.action),
                  "'stoker doctor --iam' prints what the submitter and the machines' role need");
  }
  if (Is(code, {"ParameterNotFound", "ParameterVersionNotFound", "ResourceNotFoundException"})) {
    return Status(Code::kNotFound, what + " is not there");
  }
  if (Is(code, {"ParameterAlreadyExists"})) return Status(Code::kExists, what + " is there");
  if (Is(code, {"TooManyUpdates"})) return Status(Code::kBusy, what + ": " + code);
  if (Is(code, {"ParameterLimitExceeded", "ParameterMaxVersionLimitExceeded"})) {
    return Status(Code::kNoSpace, what + ": " + code,
                  "The account may have no more parameters: 'stoker gc' removes those of jobs that "
                  "are over");
  }
  if (Is(code, {"InvalidKeyId", "DecryptionFailure"})) {
    return Status(Code::kDenied, what + ": " + code,
                  "Who asks needs kms:Decrypt on the key that it was encrypted with");
  }
  const Status said = ec2::StatusOf(what, failure);
  if (!ask.has_value) return said;
  return Status(said.code(), what + ": " + (code.empty() ? "it was refused" : code), said.next());
}

}  // namespace

Result<std::pair<std::shared_ptr<ec2::AwsApi>, std::string>> AwsIn(const std::string& region) {
  STOKER_ASSIGN(auto api, MakeAwsApi());
  std::string in = region;
  if (in.empty()) {
    STOKER_ASSIGN(const AwsAccount account, FindAwsAccount());
    in = AwsRegion(account.outside, account.config);
  }
  if (in.empty()) {
    return Status(Code::kInvalid, "no region of AWS is set on this machine",
                  "Set AWS_REGION, or name the secret by its ARN");
  }
  return std::pair(std::move(api), in);
}

std::string RegionOfName(const std::string& name, const std::string& other) {
  const std::vector<std::string> parts = Split(name, ':');
  return parts.size() > 5 && parts[0] == "arn" && !parts[3].empty() ? parts[3] : other;
}

Result<Json> AskAws(ec2::AwsApi& api, const AwsAsk& ask) {
  ec2::Call call{ask.service, ask.region, ask.action};
  call.json = ask.body.dump();
  auto reply = api.Repeat(call);
  if (!reply.ok()) return reply.status().WithContext(ask.what);
  if (reply->failure) return Refused(ask, *reply->failure);
  Json out = Json::parse(reply->body.empty() ? "{}" : reply->body, nullptr, false);
  if (!out.is_object()) {
    return Status(Code::kUnavailable, ask.what + " in " + ask.region + ": the answer is no JSON");
  }
  return out;
}

}  // namespace stoker::vault
