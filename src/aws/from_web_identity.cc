// SPDX-License-Identifier: Apache-2.0
#include "aws/sources.h"
#include "aws/sts.h"
#include "base/text.h"

namespace stoker {

AwsFound FromWebIdentity(const AwsLookup& lookup, const std::string& profile, bool variables) {
  const auto setting = [&](const char* variable, const char* key) -> std::string {
    if (variables) {
      if (auto value = lookup.environment.variable(variable)) return *value;
    }
    const std::string* value = lookup.config.Find(profile, key);
    return value == nullptr ? "" : *value;
  };
  const std::string path = setting("AWS_WEB_IDENTITY_TOKEN_FILE", "web_identity_token_file");
  if (path.empty()) {
    if (variables) lookup.Miss("AWS_WEB_IDENTITY_TOKEN_FILE is not set");
    return std::optional<AwsCredentials>();
  }
  AwsRole role;
  role.arn = setting("AWS_ROLE_ARN", "role_arn");
  role.session_name = setting("AWS_ROLE_SESSION_NAME", "role_session_name");
  role.source = "role " + Printable(role.arn) + " (web identity " + path + ")";
  if (role.arn.empty()) {
    return Status(Code::kInvalid, "there is a web identity token, but no role to assume with it",
                  "Set AWS_ROLE_ARN, or role_arn in the profile");
  }
  // Read each time: whoever writes the file renews the token.
  auto token = lookup.environment.read_file(path);
  if (!token.ok()) return token.status().WithContext("the web identity token");
  STOKER_ASSIGN(AwsCredentials out, AssumeRoleWithToken(lookup, role, *token));
  return std::optional(std::move(out));
}

}  // namespace stoker
