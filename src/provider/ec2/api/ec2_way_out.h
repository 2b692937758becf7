// SPDX-License-Identifier: Apache-2.0
// Whether machines in a subnet can reach S3, as the account's own tables have it, and what a
// machine says that could not begin. Inside provider/ec2 only. Sources: "Route tables", "Gateway
// endpoints for Amazon S3" (VPC user guide); "GetConsoleOutput" (EC2 API reference).
#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/status.h"
#include "job/boot_failure.h"
#include "provider/ec2/api/aws_api.h"

namespace stoker::ec2 {

enum class WayOut {
  kNone,     // its route table has the VPC's own route alone, and no endpoint of S3 is there
  kGateway,  // by an internet gateway: for machines that have a public address
  kSome,     // by anything else
};
// Of all subnets of a VPC.
struct WaysOut {
  std::map<std::string, WayOut> by_subnet;
  WayOut others = WayOut::kNone;  // of those that have no table of their own
  WayOut Of(const std::string& subnet) const;
};
// Errors: it cannot be looked up.
Result<WaysOut> WaysToS3(AwsApi& api, const std::string& region, const std::string& vpc);

// What to do about it.
std::string MakeAWay(const std::string& region, const std::string& vpc);

// Of an instance that is gone, out of its console. Unset: it says nothing of that.
Result<std::optional<BootFailure>> BootFailureOf(AwsApi& api, const std::string& region,
                                                 const std::string& instance_id,
                                                 const std::string& vpc, const std::string& subnet);

}  // namespace stoker::ec2
