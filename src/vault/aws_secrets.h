// SPDX-License-Identifier: Apache-2.0
// AWS Secrets Manager, which is only read: "aws-secret:NAME". Inside vault/ only.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "port/vault.h"
#include "provider/ec2/api/aws_api.h"

namespace stoker::vault {

inline constexpr char kAwsSecret[] = "aws-secret";

// "" = the region that the user's AWS tools would use.
Result<std::unique_ptr<Vault>> OpenAwsSecrets(const std::string& region);
std::unique_ptr<Vault> MakeAwsSecrets(std::shared_ptr<ec2::AwsApi> api, const std::string& region);

}  // namespace stoker::vault
