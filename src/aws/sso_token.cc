// SPDX-License-Identifier: Apache-2.0
#include "aws/sso_token.h"

#include <openssl/evp.h>

#include "aws/credential_json.h"
#include "aws/url.h"
#include "base/digest.h"
#include "base/json.h"
#include "base/text.h"

namespace stoker {
namespace {

using Json = nlohmann::json;

constexpr Duration kRenewBefore = Duration::Minutes(15);
constexpr int64_t kMostSeconds = 366LL * 24 * 3600;

std::string Sha1Hex(const std::string& text) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  EVP_Digest(text.data(), text.size(), digest, &size, EVP_sha1(), nullptr);
  return HexOf({reinterpret_cast<const char*>(digest), size});
}

Result<WallTime> TimeOf(std::string text) {
  if (EndsWith(text, "UTC")) text.replace(text.size() - 3, 3, "Z");  // older AWS tools
  return ParseRfc3339(text);
}

// As botocore writes times: to the second.
std::string Seconds(WallTime time) {
  const std::string text = FormatRfc3339(time);
  return text.substr(0, text.find('.')) + "Z";
}

// A file of the cache.
struct Cached {
  std::string path, text, token;
  WallTime expires;

  std::string Member(const char* name) const { return JsonMember(text, name); }
};

// kNotFound: there is no file; kCorrupt: it holds no login.
Result<Cached> Load(const AwsLookup& lookup, const SsoLogin& login) {
  const std::string name = Sha1Hex(login.session.empty() ? login.start_url : login.session);
  Cached out;
  out.path = lookup.environment.home + "/.aws/sso/cache/" + name + ".json";
  STOKER_ASSIGN(out.text, lookup.environment.read_file(out.path));
  out.token = out.Member("accessToken");
  const auto expires = TimeOf(out.Member("expiresAt"));
  if (out.token.empty() || out.token.find_first_of("\r\n") != std::string::npos || !expires.ok()) {
    return Status(Code::kCorrupt, out.path + " holds no login");
  }
  out.expires = *expires;
  return out;
}

// The request of CreateToken and what came of it; "" = the registration is over, or was never one.
Result<std::string> Ask(const AwsLookup& lookup, const SsoLogin& login, const Cached& old) {
  const auto registered = TimeOf(old.Member("registrationExpiresAt"));
  const Json body = {{"grantType", "refresh_token"},
                     {"clientId", old.Member("clientId")},
                     {"clientSecret", old.Member("clientSecret")},
                     {"refreshToken", old.Member("refreshToken")}};
  bool whole = registered.ok() && *registered > lookup.environment.now();
  for (const Json& value : body) whole = whole && value != "";
  if (!whole) return std::string();
  STOKER_ASSIGN(std::string endpoint,
                AwsEndpointUrl(lookup.environment, lookup.config, "sso_oidc"));
  if (endpoint.empty()) {
    const AwsVariant variant = AwsVariantOf(lookup.environment, lookup.config, "sso");
    endpoint = AwsRegionalUrl("oidc", login.region, variant);
  }
  STOKER_ASSIGN(AwsUrl url, ParseAwsUrl("the address of AWS SSO OIDC", endpoint));
  while (EndsWith(url.target, "/")) url.target.pop_back();
  HttpRequest request{"POST", url.target + "/token", {}, ""};
  request.headers = {{"Host", url.host_header}, {"Content-Type", "application/json"}};
  request.body = body.dump(-1, ' ', false, Json::error_handler_t::replace);
  STOKER_ASSIGN(HttpResponse response, lookup.environment.http(url.base, request));
  if (response.status == 200) return std::move(response.body);
  const bool later = response.status >= 500 || response.status == 429;
  const std::string said = Printable(JsonMember(response.body, "error").substr(0, 100));
  return Status(
      later ? Code::kUnavailable : Code::kDenied,
      "AWS answered " + std::to_string(response.status) + (said.empty() ? "" : " (" + said + ")"));
}

// The new token, which is in the cache by then; "" = as Ask().
Result<std::string> Renew(const AwsLookup& lookup, const SsoLogin& login, const Cached& old) {
  const WallTime asked = lookup.environment.now();
  STOKER_ASSIGN(const std::string answer, Ask(lookup, login, old));
  if (answer.empty()) return std::string();
  const std::string token = JsonMember(answer, "accessToken");
  const auto seconds = WholeNumber(JsonMember(answer, "expiresIn"), 1, kMostSeconds);
  if (token.empty() || token.find_first_of("\r\n") != std::string::npos || !seconds) {
    return Status(Code::kCorrupt, "AWS gave an answer without accessToken or expiresIn");
  }
  Json cached = {{"startUrl", login.start_url},
                 {"region", login.region},
                 {"accessToken", token},
                 {"expiresAt", Seconds(asked + Duration::Seconds(*seconds))},
                 {"clientId", old.Member("clientId")},
                 {"clientSecret", old.Member("clientSecret")},
                 {"registrationExpiresAt", old.Member("registrationExpiresAt")}};
  const std::string refresh = JsonMember(answer, "refreshToken");
  if (!refresh.empty()) cached["refreshToken"] = refresh;
  // Where it cannot be kept, it is good all the same: for this time.
  (void)lookup.environment.write_private(
      old.path, cached.dump(-1, ' ', false, Json::error_handler_t::replace));
  return token;
}

}  // namespace

Result<std::string> FindSsoToken(const AwsLookup& lookup, const std::string& profile,
                                 const SsoLogin& login) {
  const std::string who = "AWS profile '" + Printable(profile) + "': ";
  const std::string next = "Run 'aws sso login --profile " + Printable(profile) + "'";
  const auto cached = Load(lookup, login);
  if (cached.code() == Code::kNotFound) {
    return Status(Code::kDenied, who + "nobody is logged in", next);
  }
  if (cached.code() == Code::kCorrupt) {
    return Status(Code::kDenied, who + cached.status().message(), next);
  }
  if (!cached.ok()) return cached.status();
  const WallTime now = lookup.environment.now();
  std::string why;
  if (!login.session.empty() && cached->expires - now < kRenewBefore) {
    auto renewed = Renew(lookup, login, *cached);
    if (renewed.ok() && !renewed->empty()) return renewed;
    // What was refused may have been renewed by another program, which makes the old one worth
    // nothing.
    const auto again = Load(lookup, login);
    if (again.ok() && again->expires > now) return again->token;
    if (renewed.status().transient()) {
      return renewed.status().WithContext(who + "renewing the login");
    }
    if (!renewed.ok()) why = ", and was not renewed: " + renewed.status().message();
  }
  if (cached->expires > now) return cached->token;
  return Status(Code::kDenied,
                who + "the login has expired at " + FormatRfc3339(cached->expires) + why, next);
}

}  // namespace stoker
