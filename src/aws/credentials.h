// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "base/time.h"

namespace stoker {

// What a request is signed with. A value. `secret_key` and `session_token` are
// secrets: they go into no message, no log and no record.
struct AwsCredentials {
  std::string access_key;
  std::string secret_key;
  std::string session_token;        // "" = of a user, not of a session
  std::optional<WallTime> expires;  // as the giver's clock has it; unset = they do not
  std::string source;               // for people: "profile 'x' in ~/.aws/credentials"
};

}  // namespace stoker
