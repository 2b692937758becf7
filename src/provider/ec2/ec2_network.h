// SPDX-License-Identifier: Apache-2.0
// Where machines are plugged in: a VPC, its subnets, its security groups. Inside provider/ec2 only.
// Sources: "DescribeSubnets", "DescribeSecurityGroups" (EC2 API reference); "Get started with EFA
// and MPI" (EC2 user guide), for what a group must allow.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/status.h"
#include "provider/ec2/api/aws_api.h"

namespace stoker::ec2 {

struct Network {
  std::string vpc;
  std::map<std::string, std::string> subnets;  // by zone
  bool is_default = false;
};
// The default one. kNotFound: there is none.
Result<Network> DefaultNetwork(AwsApi& api, const std::string& region);
// That of these subnets; of several in one zone the first. kInvalid: one is not there, or they are
// of several VPCs.
Result<Network> NetworkOf(AwsApi& api, const std::string& region,
                          const std::vector<std::string>& subnets);

// Ids of security groups of the VPC, each given as id or name. kInvalid: one is not there, with the
// nearest; or `nodes` are several and no rule of any lets one in.
Result<std::vector<std::string>> GroupIds(AwsApi& api, const std::string& region,
                                          const std::string& vpc,
                                          const std::vector<std::string>& groups, int nodes);

// The ledger's security group of the VPC, which lets in its own members alone; made where it is
// missing. May be repeated. With `efa` it is also open towards its members by a rule of its own.
Result<std::string> EnsureGroup(AwsApi& api, const std::string& region, const std::string& vpc,
                                const std::string& ledger_id, bool efa);

}  // namespace stoker::ec2
