// SPDX-License-Identifier: Apache-2.0
// Whether the role of the machines may use the store, asked before there is any machine: one whose
// policy was never put would boot, reach nothing, and cost.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "port/broker.h"
#include "provider/ec2/api/aws_api.h"

namespace stoker {

namespace ec2 {

// The ARN of the role in the profile; "" = it has none, or this user may not ask. kNotFound: the
// profile is not there.
Result<std::string> RoleOfProfile(AwsApi& api, const std::string& region,
                                  const std::string& profile);

}  // namespace ec2

struct RoleFound {
  bool known = false;
  Status may;       // Ok, where it is known or not; kDenied: surely not, and what to type
  std::string why;  // why it is not known
};

// `role`: an ARN; `store_url`: "s3://…". A no is sure only where a policy denies, or none of the
// role allows and the bucket has no policy of its own. Asks IAM once an hour, and after a no the
// bucket.
RoleFound LookAtRole(ec2::AwsApi& api, const std::string& region, const std::string& role,
                     const std::string& store_url);

// The same of the role in `profile`, for people.
Finding TellRole(ec2::AwsApi& api, const std::string& region, const std::string& profile,
                 const std::string& store_url);

// What nodes need for a job's lines in CloudWatch Logs: stoker's groups alone.
std::vector<std::string> CloudLogActions();

// What a role is asked about as one: all that a printed policy allows it.
struct RolePolicy {
  std::string what;   // "node.json": how it is called to people
  std::string text;   // JSON of IAM
  std::string lacks;  // what follows where any of it lacks, and what to do
};

// Whether `role`, an ARN or "" where it is not told, may do all of each policy: a finding each,
// which names what lacks, or all of it where that is not known. Blocks for a moment.
std::vector<Finding> TellRoleMore(ec2::AwsApi& api, const std::string& region,
                                  const std::string& role, const std::vector<RolePolicy>& policies);

}  // namespace stoker
