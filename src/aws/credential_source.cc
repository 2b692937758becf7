// SPDX-License-Identifier: Apache-2.0
#include "aws/credential_source.h"

#include "aws/config.h"
#include "aws/sources.h"
#include "base/text.h"

namespace stoker {

AwsCredentialSource::AwsCredentialSource(AwsEnvironment environment, std::string profile)
    : environment_(std::move(environment)),
      profile_(std::move(profile)),
      renewing_({kSoon, kNow, [this] { return Find(); }, environment_.now}) {}

Result<AwsCredentials> AwsCredentialSource::Find() const {
  STOKER_ASSIGN(const AwsConfig config, ReadAwsConfig(environment_, profile_));
  std::vector<std::string> tried;
  const AwsLookup lookup{environment_, config, &tried};
  STOKER_ASSIGN(auto found, FromEverywhere(lookup, /*profile_only=*/!profile_.empty()));
  if (!found) {
    return Status(Code::kDenied, "no AWS credentials were found: " + Join(tried, "; "),
                  "Run 'aws configure' or 'aws sso login', set AWS_ACCESS_KEY_ID and "
                  "AWS_SECRET_ACCESS_KEY, or give the machine a role");
  }
  if (found->expires && *found->expires <= environment_.now()) {
    return Status(
        Code::kDenied,
        found->source + " gives credentials that expired at " + FormatRfc3339(*found->expires),
        "Renew them, and check this machine's clock");
  }
  return std::move(*found);
}

Result<AwsCredentials> AwsCredentialSource::Get() { return renewing_.Get(); }

void AwsCredentialSource::Reject(const AwsCredentials& rejected) {
  renewing_.Reject([&](const AwsCredentials& current) {
    return current.access_key == rejected.access_key &&
           current.session_token == rejected.session_token;
  });
}

}  // namespace stoker
