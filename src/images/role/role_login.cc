// SPDX-License-Identifier: Apache-2.0
#include "images/role/role_login.h"

#include <memory>

#include "base/base64.h"
#include "google/credential_source.h"
#include "net/system.h"
#include "vault/aws_calls.h"

namespace stoker {
namespace {

constexpr char kGoogleScope[] = "https://www.googleapis.com/auth/cloud-platform";
constexpr char kGoogleUser[] = "oauth2accesstoken";

HttpTimeouts Quick() {
  HttpTimeouts out;
  out.connect = Duration::Seconds(5);
  out.first_byte = out.stall = Duration::Seconds(10);
  return out;
}

Result<RegistryLogin> AskGoogle() {
  HttpPoolOptions http = SystemPoolOptions("");
  http.timeouts = Quick();
  GoogleCredentialSource source(SystemGoogleEnvironment(SystemCredentialSender(std::move(http))),
                                kGoogleScope);
  STOKER_ASSIGN(const GoogleToken token, source.Get());
  return RegistryLogin{kGoogleUser, token.secret};
}

}  // namespace

Result<RegistryLogin> AskEcr(ec2::AwsApi& api, const std::string& region) {
  const vault::AwsAsk ask{
      "ecr", region, "GetAuthorizationToken", vault::Json::object(), "a login of ECR", true};
  STOKER_ASSIGN(const vault::Json answer, vault::AskAws(api, ask));
  const Status odd(Code::kUnavailable, "ECR in " + region + " gives no login");
  const auto all = answer.find("authorizationData");
  if (all == answer.end() || !all->is_array() || all->empty() || !(*all)[0].is_object()) return odd;
  const auto word = (*all)[0].find("authorizationToken");
  if (word == (*all)[0].end() || !word->is_string()) return odd;
  const auto text = FromBase64(word->get<std::string>());
  const size_t colon = text ? text->find(':') : std::string::npos;
  if (colon == std::string::npos) return odd;
  return RegistryLogin{text->substr(0, colon), text->substr(colon + 1)};
}

Result<RegistryLogin> LoginByRole(const RoleRegistry& registry) {
  if (registry.of == RoleRegistry::Of::kGoogle) return AskGoogle();
  STOKER_ASSIGN(const auto api, MakeAwsApi(nullptr, Quick()));
  return AskEcr(*api, registry.region);
}

}  // namespace stoker
