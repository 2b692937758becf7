// SPDX-License-Identifier: Apache-2.0
#include "aws/sources.h"

namespace stoker {

AwsFound FromVariables(const AwsLookup& lookup) {
  const auto& variable = lookup.environment.variable;
  const auto access_key = variable("AWS_ACCESS_KEY_ID");
  if (!access_key) {
    lookup.Miss("AWS_ACCESS_KEY_ID is not set");
    return std::optional<AwsCredentials>();
  }
  const auto secret_key = variable("AWS_SECRET_ACCESS_KEY");
  if (!secret_key) {
    return Status(Code::kDenied, "AWS_ACCESS_KEY_ID is set, but AWS_SECRET_ACCESS_KEY is not",
                  "Set both, or neither");
  }
  AwsCredentials out;
  out.access_key = *access_key;
  out.secret_key = *secret_key;
  out.source = "the environment (AWS_ACCESS_KEY_ID)";
  for (const char* name : {"AWS_SECURITY_TOKEN", "AWS_SESSION_TOKEN"}) {  // the latter wins
    if (auto token = variable(name)) out.session_token = *token;
  }
  if (const auto expires = variable("AWS_CREDENTIAL_EXPIRATION")) {
    auto time = ParseRfc3339(*expires);
    if (!time.ok()) return time.status().WithContext("AWS_CREDENTIAL_EXPIRATION");
    out.expires = *time;
  }
  return std::optional(std::move(out));
}

}  // namespace stoker
