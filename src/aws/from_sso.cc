// SPDX-License-Identifier: Apache-2.0
// Source: "IAM Identity Center credential provider" (AWS SDKs and tools reference guide);
// GetRoleCredentials of the portal's API reference; botocore's SSOTokenLoader for the cache.
#include <openssl/evp.h>

#include "aws/credential_json.h"
#include "aws/sources.h"
#include "aws/url.h"
#include "base/text.h"
#include "job/digest.h"
#include "net/percent.h"

namespace stoker {
namespace {

struct Login {
  std::string session;  // name of the [sso-session …]; "" = the older form, all in the profile
  std::string start_url, region, account, role;
};

std::string Sha1Hex(const std::string& text) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  EVP_Digest(text.data(), text.size(), digest, &size, EVP_sha1(), nullptr);
  return HexOf({reinterpret_cast<const char*>(digest), size});
}

Result<Login> LoginOf(const AwsConfig& config, const std::string& profile) {
  const auto bad = [&](const std::string& what) {
    return Status(Code::kInvalid, "AWS profile '" + Printable(profile) + "' " + what,
                  "Run 'aws configure sso --profile " + Printable(profile) + "'");
  };
  IniSection values = *config.Profile(profile);
  Login out;
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

// The bearer token that `aws sso login` left, which only it renews.
Result<std::string> Token(const AwsLookup& lookup, const std::string& profile, const Login& login) {
  const auto bad = [&](const std::string& what) {
    return Status(Code::kDenied, "AWS profile '" + Printable(profile) + "': " + what,
                  "Run 'aws sso login --profile " + Printable(profile) + "'");
  };
  const std::string name = Sha1Hex(login.session.empty() ? login.start_url : login.session);
  const std::string path = lookup.environment.home + "/.aws/sso/cache/" + name + ".json";
  const auto text = lookup.environment.read_file(path);
  if (!text.ok() && text.code() == Code::kNotFound) return bad("nobody is logged in");
  if (!text.ok()) return text.status();
  const std::string token = JsonMember(*text, "accessToken");
  std::string until = JsonMember(*text, "expiresAt");
  if (EndsWith(until, "UTC")) until.replace(until.size() - 3, 3, "Z");  // older AWS tools
  const auto expires = ParseRfc3339(until);
  if (token.empty() || !expires.ok()) return bad(path + " holds no login");
  if (*expires <= lookup.environment.now()) return bad("the login has expired at " + until);
  return token;
}

}  // namespace

AwsFound FromSso(const AwsLookup& lookup, const std::string& profile) {
  const AwsConfig& config = lookup.config;
  if (config.Find(profile, "sso_account_id") == nullptr &&
      config.Find(profile, "sso_role_name") == nullptr) {
    return std::optional<AwsCredentials>();
  }
  STOKER_ASSIGN(const Login login, LoginOf(config, profile));
  STOKER_ASSIGN(const std::string token, Token(lookup, profile, login));
  STOKER_ASSIGN(std::string endpoint, AwsEndpointUrl(lookup.environment, config, "sso"));
  if (endpoint.empty()) endpoint = AwsRegionalUrl("portal.sso", login.region);
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
