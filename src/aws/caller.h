// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "aws/config.h"
#include "aws/credentials.h"
#include "aws/environment.h"
#include "base/status.h"

namespace stoker {

// Whom the Security Token Service takes these credentials for: "arn:aws:iam::1234:user/ann".
// One request, which needs no permission. Source: "GetCallerIdentity" (STS API reference).
Result<std::string> CallerArn(const AwsEnvironment& environment, const AwsConfig& config,
                              const AwsCredentials& credentials);

}  // namespace stoker
