// SPDX-License-Identifier: Apache-2.0
// Source: "IAM Identity Center credential provider" (AWS SDKs and tools reference guide);
// GetRoleCredentials of the portal's API reference.
#include "aws/credential_json.h"
#include "aws/sources.h"
#include "aws/sso_token.h"
#include "aws/url.h"
#include "base/text.h"
#include "net/percent.h"

namespace stoker {
namespace {

Result<SsoLogin> LoginOf(const AwsConfig& config, const std::string& profile) {
  const auto bad = [&](const std::string& what) {
    return Status(Code::kInvalid, "AWS profile '" + Printable(profile) + "' " + what,
                  "Run 'aws configure sso --profile " + Printable(profile) + "'");
  };
  IniSection values = *config.Profile(profile);
  SsoLogin out;
  if (const auto session = values.find("sso_session"); session != values.end()) {
    out.session = session->second;
    const auto section = config.sso_sessions.find(out.session);
    if (section == config.sso_sessions.end()) {
      return bad("names sso_session '" + Printable(out.session) + "', which is not there");
    }
    for (const auto& [key, value] : section->second) {
      const auto [at, is_new] = values.try_emplace(key, value);
      if (!is_new && at->second != value) {
        return bad("and its sso_session disagree about " + Printable(key));
      }
    }
  }
  const std::pair<const char*, std::string*> needed[] = {{"sso_start_url", &out.start_url},
                                                         {"sso_region", &out.region},
                                                         {"sso_account_id", &out.account},
                                                         {"sso_role_name", &out.role}};
  for (const auto& [key, value] : needed) {
    *value = values[key];
    if (value->empty()) return bad("has no " + std::string(key));
  }
  if (!IsSafeName(out.region)) return bad("has a strange sso_region");
  return out;
}

}  // namespace

AwsFound FromSso(const AwsLookup& lookup, const std::string& profile) {
  const AwsConfig& config = lookup.config;
  if (config.Find(profile, "sso_account_id") == nullptr &&
      config.Find(profile, "sso_role_name") == nullptr) {
    return std::optional<AwsCredentials>();
  }
  STOKER_ASSIGN(const SsoLogin login, LoginOf(config, profile));
  STOKER_ASSIGN(const std::string token, FindSsoToken(lookup, profile, login));
  STOKER_ASSIGN(std::string endpoint, AwsEndpointUrl(lookup.environment, config, "sso"));
  if (endpoint.empty()) {
    const AwsVariant variant = AwsVariantOf(lookup.environment, config, "sso");
    endpoint = AwsRegionalUrl("portal.sso", login.region, variant);
  }
  STOKER_ASSIGN(const AwsUrl url, ParseAwsUrl("the address of AWS SSO", endpoint));
  HttpRequest request;
  request.target = "/federation/credentials?role_name=" + PercentEncode(login.role) +
                   "&account_id=" + PercentEncode(login.account);
  request.headers = {{"Host", url.host_header}, {"x-amz-sso_bearer_token", token}};
  const std::string where = "SSO login of profile '" + Printable(profile) + "'";
  const auto response = lookup.environment.http(url.base, request);
  if (!response.ok()) return response.status().WithContext(where);
  if (response->status != 200) {
    const bool later = response->status >= 500 || response->status == 429;
    return Status(later ? Code::kUnavailable : Code::kDenied,
                  where + ": AWS answered " + std::to_string(response->status),
                  later ? "" : "Run 'aws sso login --profile " + Printable(profile) + "'");
  }
  AwsJsonNames names{"accessKeyId", "secretAccessKey", "sessionToken", "expiration",
                     "roleCredentials"};
  STOKER_ASSIGN(AwsCredentials out, CredentialsOfJson(where, response->body, names));
  return std::optional(std::move(out));
}

}  // namespace stoker
