// SPDX-License-Identifier: Apache-2.0
// Signed assertions of service accounts; inside google/ only. Pure. Sources: RFC 7515, RFC 7523;
// "Using OAuth 2.0 for server to server applications" (Google Identity).
#pragma once

#include <string>

#include "base/status.h"
#include "base/time.h"

namespace stoker {

struct GoogleAssertion {
  std::string key_pem;  // PKCS #8 or PKCS #1; a secret
  std::string key_id;   // "" = not said
  std::string issuer;   // also the subject's own name
  std::string audience;
  std::string scope;
  WallTime now;
};

// Good for an hour from `now`, signed with RS256. kInvalid: not a private RSA key; says nothing of
// it.
Result<std::string> SignGoogleAssertion(const GoogleAssertion& assertion);

}  // namespace stoker
