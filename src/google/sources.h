// SPDX-License-Identifier: Apache-2.0
// The places and kinds of application-default credentials; inside google/ only. Source of order and
// rules: google-auth's _default.py; AIP-4110 to AIP-4117; "How Application Default Credentials
// works" (Google Cloud documentation).
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "google/environment.h"
#include "google/token.h"

namespace stoker {

// Where only somebody else's token is asked for, that alone.
inline constexpr char kIamScope[] = "https://www.googleapis.com/auth/iam";

// One search. `tried` gets a few words for each place that has nothing, for the error.
struct GoogleLookup {
  const GoogleEnvironment& environment;
  std::vector<std::string>* tried;
  std::string scope = kStorageScope;  // what the token is to be good for

  void Miss(std::string why) const { tried->push_back(std::move(why)); }
};

// Nothing: this place is not set up, look at the next. An error: it is set up and does not work,
// which ends the search, as silently using somebody else's credentials would be worse.
using GoogleFound = Result<std::optional<GoogleToken>>;

// A file of credentials. `where` stands in errors and becomes the token's source; no text of the
// file does.
struct GoogleFile {
  std::string where;
  nlohmann::json json;  // an object

  // The text of a member, "" = it has none.
  std::string Text(const char* name) const;
  // The same; kInvalid where it is missing.
  Result<std::string> Need(const char* name) const;
};

// Tokens of each kind of file. `scope` is what the token is to be good for.
Result<GoogleToken> FromServiceAccount(const GoogleLookup& lookup, const GoogleFile& file,
                                       const std::string& scope);
Result<GoogleToken> FromUser(const GoogleLookup& lookup, const GoogleFile& file);
Result<GoogleToken> FromImpersonation(const GoogleLookup& lookup, const GoogleFile& file);
Result<GoogleToken> FromExternalAccount(const GoogleLookup& lookup, const GoogleFile& file);

// The service account of the machine.
GoogleFound FromMetadata(const GoogleLookup& lookup);

// Everywhere: GOOGLE_APPLICATION_CREDENTIALS, gcloud's application-default credentials, the
// metadata server.
GoogleFound FindGoogleToken(const GoogleLookup& lookup);

}  // namespace stoker
