// SPDX-License-Identifier: Apache-2.0
// The users' AWS settings: what the environment and the two files under ~/.aws say together.
// Sources: "Configuration and credential file settings" (AWS SDKs and tools reference guide); the
// precedence of botocore.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "aws/environment.h"
#include "aws/ini.h"
#include "base/status.h"

namespace stoker {

// A value; read once. Holds secrets.
struct AwsConfig {
  std::string config_path, credentials_path;  // absolute
  bool has_config = false, has_credentials = false;
  std::string profile;  // whose settings count
  bool chosen = false;  // by the caller or a variable: it must exist
  // By profile; `profiles` has both files merged, where the credentials file wins.
  std::map<std::string, IniSection> profiles, from_config, from_credentials;
  std::map<std::string, IniSection> sso_sessions, services;

  // nullptr: no such profile, or no such key in it.
  const IniSection* Profile(const std::string& name) const;
  const std::string* Find(const std::string& name, const std::string& key) const;
};

// Reads AWS_CONFIG_FILE (~/.aws/config), AWS_SHARED_CREDENTIALS_FILE (~/.aws/credentials) and the
// profile's name: `profile`, else AWS_DEFAULT_PROFILE, else AWS_PROFILE, else "default". Files that
// are not there are no error. kInvalid: a file that cannot be parsed; kNotFound: a profile was
// chosen that neither file has.
Result<AwsConfig> ReadAwsConfig(const AwsEnvironment& environment, const std::string& profile = "");

// AWS_REGION, AWS_DEFAULT_REGION, the profile's `region`; "" = none is set.
std::string AwsRegion(const AwsEnvironment& environment, const AwsConfig& config);

// Where the user wants requests for `service` ("s3", "sts") to go instead of Amazon's own address:
// AWS_ENDPOINT_URL_<SERVICE>, AWS_ENDPOINT_URL, `endpoint_url` of the service in the profile's
// `services` section, the profile's `endpoint_url`. "" = nowhere else, also when
// AWS_IGNORE_CONFIGURED_ENDPOINT_URLS is true. kInvalid: a `services` section that is not there.
Result<std::string> AwsEndpointUrl(const AwsEnvironment& environment, const AwsConfig& config,
                                   const std::string& service);

// A setting that a variable has, else the profile; "" = neither.
std::string AwsSetting(const AwsEnvironment& environment, const AwsConfig& config,
                       const std::string& variable, const std::string& key);

// Which of Amazon's own addresses the user wants: those that IPv6 reaches too, those of FIPS 140.
struct AwsVariant {
  bool dualstack = false;
  bool fips = false;
};
// AWS_USE_DUALSTACK_ENDPOINT and AWS_USE_FIPS_ENDPOINT, else `use_dualstack_endpoint` and
// `use_fips_endpoint` of the profile; for "s3", `s3.use_dualstack_endpoint` may ask for it too.
AwsVariant AwsVariantOf(const AwsEnvironment& environment, const AwsConfig& config,
                        const std::string& service);

// Amazon's own: "https://sts.eu-central-1.amazonaws.com", with the suffix of the region's
// partition. Source: partitions.json and the endpoint rules of botocore.
std::string AwsRegionalUrl(const std::string& service, const std::string& region,
                           const AwsVariant& variant = {});

// The part of Amazon's cloud that a region is in, as ARNs name it: "aws", "aws-cn". Source: the
// same.
std::string AwsPartition(const std::string& region);

// "true" in any case.
bool AwsFlag(const std::optional<std::string>& value);

}  // namespace stoker
