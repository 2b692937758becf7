// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "aws/renewing.h"
#include "base/status.h"
#include "google/environment.h"
#include "google/token.h"

namespace stoker {

// Hands out access tokens that are good now, of Google's application-default credentials: from
// where the users' other programs find them, see google/sources.h. Looks when it is first asked,
// and again before what it found expires. Thread-safe.
class GoogleCredentialSource {
 public:
  // As google-auth's REFRESH_THRESHOLD: metadata servers hand out the same token until some four
  // minutes before its end.
  static constexpr Duration kSoon = Duration::Seconds(225);
  static constexpr Duration kNow = Duration::Minutes(1);

  // `scope`: what the tokens are to be good for, where the credentials do not say.
  explicit GoogleCredentialSource(GoogleEnvironment environment, std::string scope = kStorageScope);

  // As Renewing::Get. kDenied: none found, or refused; says all places that were tried. kInvalid:
  // files that cannot be right. kUnavailable, kTimeout: ask again later.
  Result<GoogleToken> Get();

  // The service does not take `rejected` (401): unless there is another by now, the next Get()
  // looks again.
  void Reject(const GoogleToken& rejected);

 private:
  Result<GoogleToken> Find() const;

  const GoogleEnvironment environment_;
  const std::string scope_;
  Renewing<GoogleToken> renewing_;
};

// For people, without the secret: "service account key in /k.json, for a@p.iam.gserviceaccount.com,
// until 2026-11-22T10:00:00Z".
std::string Describe(const GoogleToken& token);

}  // namespace stoker
