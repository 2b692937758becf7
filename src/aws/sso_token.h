// SPDX-License-Identifier: Apache-2.0
// The bearer token that `aws sso login` left behind; inside aws/ only. Sources: botocore's
// SSOTokenLoader and tokens.py for the cache; "CreateToken" (IAM Identity Center OIDC API
// reference).
#pragma once

#include <string>

#include "aws/sources.h"

namespace stoker {

// What a profile says of its login. `session`: the name of its [sso-session …]; "" = the older
// form, all in the profile.
struct SsoLogin {
  std::string session;
  std::string start_url, region, account, role;
};

// Good now. That of a session is renewed from 15 minutes before its end, also after it, as long as
// the login allows, and the cache then holds the new one, for all AWS tools; the older form is
// renewed by `aws sso login` alone. kDenied: nobody is logged in, or the login is over and cannot
// be renewed; kUnavailable, kTimeout: it is over, and who renews it cannot be reached.
Result<std::string> FindSsoToken(const AwsLookup& lookup, const std::string& profile,
                                 const SsoLogin& login);

}  // namespace stoker
