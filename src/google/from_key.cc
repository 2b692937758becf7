// SPDX-License-Identifier: Apache-2.0
// Keys of service accounts, and what 'gcloud auth application-default login' leaves. Sources:
// "Using OAuth 2.0 for server to server applications"; RFC 6749, 6.
#include "google/exchange.h"
#include "google/jwt.h"
#include "google/sources.h"

namespace stoker {
namespace {

// What google-auth asks users' tokens of, and whom it addresses assertions to, whatever the file
// says.
constexpr char kTokenService[] = "https://oauth2.googleapis.com/token";

}  // namespace

Result<GoogleToken> FromServiceAccount(const GoogleLookup& lookup, const GoogleFile& file,
                                       const std::string& scope) {
  const std::string where = "service account key in " + file.where;
  STOKER_ASSIGN(const std::string url, file.Need("token_uri"));
  GoogleAssertion assertion;
  STOKER_ASSIGN(assertion.key_pem, file.Need("private_key"));
  STOKER_ASSIGN(assertion.issuer, file.Need("client_email"));
  assertion.key_id = file.Text("private_key_id");
  assertion.audience = kTokenService;
  assertion.scope = scope;
  assertion.now = lookup.environment.now();
  const auto jwt = SignGoogleAssertion(assertion);
  if (!jwt.ok()) return jwt.status().WithContext(where);
  STOKER_ASSIGN(GoogleToken token,
                ExchangeForm(lookup, where, url,
                             {{"grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer"},
                              {"assertion", *jwt}}));
  token.who = assertion.issuer;
  return token;
}

// No scope is named: the token is good for all that the user agreed to when logging in.
Result<GoogleToken> FromUser(const GoogleLookup& lookup, const GoogleFile& file) {
  const std::string where = "user's login in " + file.where;
  GoogleForm form = {{"grant_type", "refresh_token"}};
  for (const char* name : {"client_id", "client_secret", "refresh_token"}) {
    STOKER_ASSIGN(std::string value, file.Need(name));
    form.emplace_back(name, std::move(value));
  }
  STOKER_ASSIGN(GoogleToken token, ExchangeForm(lookup, where, kTokenService, form));
  token.who = file.Text("account");
  return token;
}

}  // namespace stoker
