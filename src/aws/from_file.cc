// SPDX-License-Identifier: Apache-2.0
#include "aws/sources.h"
#include "base/text.h"

namespace stoker {
namespace {

AwsFound Keys(const AwsLookup& lookup, const std::string& profile, const std::string& path,
              const std::map<std::string, IniSection>& sections, bool there) {
  const auto section = sections.find(profile);
  const std::string where = "profile '" + Printable(profile) + "' in " + path;
  const auto miss = [&](std::string why) {
    lookup.Miss(std::move(why));
    return std::optional<AwsCredentials>();
  };
  if (!there) return miss(path + " does not exist");
  if (section == sections.end()) return miss("there is no " + where);
  const auto access_key = section->second.find("aws_access_key_id");
  if (access_key == section->second.end()) return miss(where + " has no aws_access_key_id");
  const auto secret_key = section->second.find("aws_secret_access_key");
  if (secret_key == section->second.end() || access_key->second.empty() ||
      secret_key->second.empty()) {
    return Status(Code::kDenied, where + " has not both keys",
                  "Give it aws_access_key_id and aws_secret_access_key ('aws configure')");
  }
  AwsCredentials out;
  out.access_key = access_key->second;
  out.secret_key = secret_key->second;
  out.source = where;
  for (const char* name : {"aws_session_token", "aws_security_token"}) {  // the latter wins
    const auto token = section->second.find(name);
    if (token != section->second.end()) out.session_token = token->second;
  }
  return std::optional(std::move(out));
}

}  // namespace

AwsFound FromCredentialsFile(const AwsLookup& lookup, const std::string& profile) {
  const AwsConfig& config = lookup.config;
  return Keys(lookup, profile, config.credentials_path, config.from_credentials,
              config.has_credentials);
}

AwsFound FromConfigFile(const AwsLookup& lookup, const std::string& profile) {
  const AwsConfig& config = lookup.config;
  return Keys(lookup, profile, config.config_path, config.from_config, config.has_config);
}

}  // namespace stoker
