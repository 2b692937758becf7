// SPDX-License-Identifier: Apache-2.0
#include "aws/credential_json.h"
#include "aws/ini.h"
#include "aws/sources.h"
#include "base/text.h"

namespace stoker {

// What the program wrote stands in no error: it may be the secret.
AwsFound FromProcess(const AwsLookup& lookup, const std::string& profile) {
  const std::string* line = lookup.config.Find(profile, "credential_process");
  if (line == nullptr) return std::optional<AwsCredentials>();
  const std::string where = "credential_process of profile '" + Printable(profile) + "'";
  const auto words = ShellWords(*line);
  if (!words.ok()) return words.status().WithContext(where);
  if (words->empty()) return Status(Code::kInvalid, where + " is empty");
  auto done = lookup.environment.run(*words);
  if (!done.ok()) return done.status().WithContext(where);
  if (done->exit_code != 0) {
    return Status(Code::kDenied,
                  where + " failed with exit code " + std::to_string(done->exit_code),
                  "Run it by hand: the line is in " + lookup.config.config_path);
  }
  const std::string version = JsonMember(done->out, "Version");
  if (version != "1") {
    return Status(Code::kCorrupt, where + ": the answer is not JSON of version 1");
  }
  AwsJsonNames names;
  names.session_token = "SessionToken";
  names.temporary = false;
  STOKER_ASSIGN(AwsCredentials out, CredentialsOfJson(where, done->out, names));
  return std::optional(std::move(out));
}

}  // namespace stoker
