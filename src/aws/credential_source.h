// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "aws/credentials.h"
#include "aws/environment.h"
#include "aws/renewing.h"
#include "base/status.h"

namespace stoker {

// Hands out credentials that are good now, from where the users' other AWS tools find them: see
// aws/sources.h for the places and their order. Looks when it is first asked, and again before
// what it found expires. Thread-safe; while one thread looks, others get what is there.
class AwsCredentialSource {
 public:
  // As botocore's: from `kSoon` before the end somebody renews, from `kNow` before the end all
  // wait for it.
  static constexpr Duration kSoon = Duration::Minutes(15);
  static constexpr Duration kNow = Duration::Minutes(10);

  // `profile`: counts more than any variable; "" = as the environment says.
  explicit AwsCredentialSource(AwsEnvironment environment, std::string profile = "");

  // May take as long as the requests that renewal needs. When renewal fails, what was there is
  // handed out while it lasts, and renewal is tried again after a minute (soon) or ten seconds
  // (now). kDenied: none found, or refused; says all places that were tried. kInvalid: settings
  // that cannot be right. kUnavailable, kTimeout: ask again later; so is everything that fails
  // after it has worked once.
  Result<AwsCredentials> Get();

  // The service does not take `rejected` (ExpiredToken, InvalidAccessKeyId): unless there are
  // others by now, the next Get() looks again.
  void Reject(const AwsCredentials& rejected);

 private:
  Result<AwsCredentials> Find() const;

  const AwsEnvironment environment_;
  const std::string profile_;
  Renewing<AwsCredentials> renewing_;
};

}  // namespace stoker
