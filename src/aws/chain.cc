// SPDX-License-Identifier: Apache-2.0
// The order in which the places are looked at: botocore's.
#include "aws/sources.h"
#include "base/text.h"

namespace stoker {
namespace {

AwsFound FirstOf(const std::vector<std::function<AwsFound()>>& places) {
  for (const auto& place : places) {
    AwsFound found = place();
    if (!found.ok() || *found) return found;
  }
  return std::optional<AwsCredentials>();
}

// `aws login` of 2025 keeps keys bound to its own process: said, rather than passed over.
AwsFound RefuseLogin(const AwsLookup& lookup, const std::string& profile) {
  if (lookup.config.Find(profile, "login_session") == nullptr) {
    return std::optional<AwsCredentials>();
  }
  return Status(Code::kInvalid,
                "AWS profile '" + Printable(profile) +
                    "' uses 'aws login' (login_session), which "
                    "stoker cannot",
                "Hand over what it gives: credential_process = aws configure export-credentials "
                "--profile " +
                    Printable(profile) + " --format process, in a profile of its own");
}

}  // namespace

AwsFound FromProfile(const AwsLookup& lookup, const std::string& profile, bool variables) {
  return FirstOf({[&] { return FromWebIdentity(lookup, profile, variables); },
                  [&] { return FromSso(lookup, profile); },
                  [&] { return FromCredentialsFile(lookup, profile); },
                  [&] { return RefuseLogin(lookup, profile); },
                  [&] { return FromProcess(lookup, profile); },
                  [&] { return FromConfigFile(lookup, profile); }});
}

AwsFound FromEverywhere(const AwsLookup& lookup, bool profile_only) {
  const std::string& profile = lookup.config.profile;
  if (!profile_only) {
    AwsFound found = FromVariables(lookup);
    if (!found.ok() || *found) return found;
  }
  return FirstOf({[&] { return FromRole(lookup, profile); },
                  [&] { return FromProfile(lookup, profile, !profile_only); },
                  [&] { return FromContainer(lookup); }, [&] { return FromInstance(lookup); }});
}

}  // namespace stoker
