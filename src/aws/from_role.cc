// SPDX-License-Identifier: Apache-2.0
// Roles that a profile assumes, and chains of them. Source: "Assume role credential provider".
#include <algorithm>

#include "aws/sources.h"
#include "aws/sts.h"
#include "base/text.h"

namespace stoker {
namespace {

class RoleChain {
 public:
  explicit RoleChain(const AwsLookup& lookup) : lookup_(lookup), config_(lookup.config) {}

  bool HasRole(const std::string& profile) const {
    return config_.Find(profile, "role_arn") != nullptr &&
           config_.Find(profile, "web_identity_token_file") == nullptr;
  }

  Result<AwsCredentials> Assume(const std::string& profile) {
    visited_.push_back(profile);
    const std::string* giver = config_.Find(profile, "source_profile");
    const std::string* place = config_.Find(profile, "credential_source");
    if ((giver == nullptr) == (place == nullptr)) {
      return Bad(profile,
                 giver == nullptr ? "has a role_arn, but nobody to assume it with"
                                  : "has both source_profile and credential_source",
                 "Give it either source_profile or credential_source");
    }
    if (config_.Find(profile, "mfa_serial") != nullptr) {
      return Bad(profile, "asks for an MFA code, which nobody is there to type",
                 "Assume the role yourself and hand over the result: "
                 "eval \"$(aws configure export-credentials --format env)\"");
    }
    STOKER_ASSIGN(const AwsCredentials credentials,
                  giver != nullptr ? OfProfile(profile, *giver) : OfPlace(profile, *place));
    const auto setting = [&](const char* key) -> std::string {
      const std::string* value = config_.Find(profile, key);
      return value == nullptr ? "" : *value;
    };
    AwsRole role{setting("role_arn"), setting("role_session_name"), setting("external_id"),
                 setting("duration_seconds"), ""};
    role.source = "role " + Printable(role.arn) + " of profile '" + Printable(profile) +
                  "', assumed with " + credentials.source;
    return AssumeRole(lookup_, role, credentials);
  }

 private:
  Status Bad(const std::string& profile, const std::string& what, const std::string& next) const {
    return Status(Code::kInvalid, "AWS profile '" + Printable(profile) + "' " + what,
                  next + " (" + config_.config_path + ")");
  }

  bool HasKeys(const std::string& profile) const {
    return config_.Find(profile, "aws_access_key_id") != nullptr ||
           config_.Find(profile, "aws_secret_access_key") != nullptr;
  }

  Result<AwsCredentials> OfProfile(const std::string& profile, const std::string& giver) {
    if (config_.Profile(giver) == nullptr) {
      return Bad(profile, "names source_profile '" + Printable(giver) + "', which is not there",
                 "Correct the name");
    }
    // A profile may name itself, when it has keys of its own to assume its role with.
    const bool itself = giver == profile && HasKeys(giver);
    if (!itself && std::find(visited_.begin(), visited_.end(), giver) != visited_.end()) {
      return Bad(profile, "leads back to itself: " + Join(visited_, " -> ") + " -> " + giver,
                 "One of the source_profile lines must name a profile with keys");
    }
    if (!HasKeys(giver) && HasRole(giver)) return Assume(giver);
    STOKER_ASSIGN(auto found, FromProfile(lookup_, giver, /*variables=*/false));
    if (found) return std::move(*found);
    return Bad(giver, "is a source_profile, but has no credentials",
               "Give it keys ('aws configure --profile " + Printable(giver) + "')");
  }

  Result<AwsCredentials> OfPlace(const std::string& profile, const std::string& place) {
    AwsFound found = std::optional<AwsCredentials>();
    if (place == "Environment") {
      found = FromVariables(lookup_);
    } else if (place == "Ec2InstanceMetadata") {
      found = FromInstance(lookup_);
    } else if (place == "EcsContainer") {
      found = FromContainer(lookup_);
    } else {
      return Bad(profile, "has the unknown credential_source '" + Printable(place) + "'",
                 "Write Environment, Ec2InstanceMetadata or EcsContainer");
    }
    if (!found.ok()) return found.status();
    if (*found) return std::move(**found);
    return Bad(profile, "has credential_source " + place + ": " + lookup_.tried->back(),
               "Provide them there, or name a source_profile");
  }

  const AwsLookup& lookup_;
  const AwsConfig& config_;
  std::vector<std::string> visited_;
};

}  // namespace

AwsFound FromRole(const AwsLookup& lookup, const std::string& profile) {
  RoleChain chain(lookup);
  if (!chain.HasRole(profile)) return std::optional<AwsCredentials>();
  STOKER_ASSIGN(AwsCredentials out, chain.Assume(profile));
  return std::optional(std::move(out));
}

}  // namespace stoker
