// SPDX-License-Identifier: Apache-2.0
// The JSON objects in which services and programs hand out credentials; inside aws/ only. Pure.
#pragma once

#include <string>

#include "aws/credentials.h"
#include "base/status.h"

namespace stoker {

// What the members are called. `inside`: the object is that member of the whole.
struct AwsJsonNames {
  const char* access_key = "AccessKeyId";
  const char* secret_key = "SecretAccessKey";
  const char* session_token = "Token";
  const char* expires = "Expiration";
  const char* inside = nullptr;
  bool temporary = true;  // session token and expiry must be there
};

// `source` becomes that of the credentials and stands in errors; no text of the JSON does. The
// expiry is RFC 3339 or milliseconds since 1970. kCorrupt: not that JSON; names what is missing.
Result<AwsCredentials> CredentialsOfJson(const std::string& source, const std::string& text,
                                         const AwsJsonNames& names);

// The text, or the whole number, that `name` has in the object `text`; "" = neither.
std::string JsonMember(const std::string& text, const std::string& name);

}  // namespace stoker
