// SPDX-License-Identifier: Apache-2.0
// The places where credentials are found, each in a file of its own; inside aws/ only. Source of
// order and rules: botocore's credentials.py; "Standardized credential providers" of the AWS SDKs
// and tools reference guide.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "aws/config.h"
#include "aws/credentials.h"
#include "aws/environment.h"
#include "base/status.h"

namespace stoker {

// One search. `tried` gets a few words for each place that has nothing, for the error.
struct AwsLookup {
  const AwsEnvironment& environment;
  const AwsConfig& config;
  std::vector<std::string>* tried;

  void Miss(std::string why) const { tried->push_back(std::move(why)); }
};

// Nothing: this place is not set up, look at the next. An error: it is set up and does not work,
// which ends the search, as silently using somebody else's credentials would be worse.
using AwsFound = Result<std::optional<AwsCredentials>>;

// AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_CREDENTIAL_EXPIRATION.
AwsFound FromVariables(const AwsLookup& lookup);

// `role_arn` of a profile, assumed with the credentials of its `source_profile` or
// `credential_source`.
AwsFound FromRole(const AwsLookup& lookup, const std::string& profile);

// A token file and a role: of AWS_WEB_IDENTITY_TOKEN_FILE, AWS_ROLE_ARN and
// AWS_ROLE_SESSION_NAME if `variables`, else of the profile.
AwsFound FromWebIdentity(const AwsLookup& lookup, const std::string& profile, bool variables);

// What `aws sso login` left, renewed where it can be.
AwsFound FromSso(const AwsLookup& lookup, const std::string& profile);

// aws_access_key_id and aws_secret_access_key of a profile in one of the two files.
AwsFound FromCredentialsFile(const AwsLookup& lookup, const std::string& profile);
AwsFound FromConfigFile(const AwsLookup& lookup, const std::string& profile);

// `credential_process` of a profile. Source of its JSON: "Process credential provider".
AwsFound FromProcess(const AwsLookup& lookup, const std::string& profile);

// AWS_CONTAINER_CREDENTIALS_RELATIVE_URI and …_FULL_URI: ECS, EKS pod identity.
AwsFound FromContainer(const AwsLookup& lookup);

// The role of the EC2 instance, from its metadata service, version 2.
AwsFound FromInstance(const AwsLookup& lookup);

// All that a profile can say but FromRole(), in botocore's order.
AwsFound FromProfile(const AwsLookup& lookup, const std::string& profile, bool variables);

// Everywhere. With `profile_only`, variables do not count: the caller named a profile.
AwsFound FromEverywhere(const AwsLookup& lookup, bool profile_only);

}  // namespace stoker
