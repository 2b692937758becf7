// SPDX-License-Identifier: Apache-2.0
// AWS Systems Manager's Parameter Store: "ssm:/NAME". Inside vault/ only.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "port/vault.h"
#include "provider/ec2/api/aws_api.h"

namespace stoker::vault {

inline constexpr char kParameterStore[] = "ssm";

// "" = the region that the user's AWS tools would use.
Result<std::unique_ptr<Vault>> OpenParameterStore(const std::string& region);
std::unique_ptr<Vault> MakeParameterStore(std::shared_ptr<ec2::AwsApi> api,
                                          const std::string& region);

}  // namespace stoker::vault
