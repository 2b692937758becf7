// SPDX-License-Identifier: Apache-2.0
// The two calls of the Security Token Service that give credentials; inside aws/ only. Source of
// the protocol: "AssumeRole" and "AssumeRoleWithWebIdentity" (STS API reference).
#pragma once

#include <optional>
#include <string>

#include "aws/sources.h"

namespace stoker {

struct AwsRole {
  std::string arn;
  std::string session_name;  // "" = "stoker"
  std::string external_id;   // "" = none
  std::string duration;      // seconds in decimal; "" = as the role has it
  std::string source;        // becomes that of the credentials
};

// Signed with `giver`'s credentials. kDenied says what STS said.
Result<AwsCredentials> AssumeRole(const AwsLookup& lookup, const AwsRole& role,
                                  const AwsCredentials& giver);

// Not signed: `token` says who asks.
Result<AwsCredentials> AssumeRoleWithToken(const AwsLookup& lookup, const AwsRole& role,
                                           const std::string& token);

}  // namespace stoker
