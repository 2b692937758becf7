// SPDX-License-Identifier: Apache-2.0
// How a person comes to a machine of EC2 by ssh: where it is, a rule that lets one address in for a
// while, a key for a minute. Sources: "DescribeInstances", "AuthorizeSecurityGroupIngress" (EC2 API
// reference); "SendSSHPublicKey" (EC2 Instance Connect API reference).
#pragma once

#include <string>

#include "base/status.h"
#include "base/time.h"
#include "provider/ec2/api/aws_api.h"

namespace stoker {

struct Ec2Door {
  std::string region;
  std::string id;
  std::string zone;
  std::string state;       // "running"
  std::string address;     // of the internet where it has one, else of its VPC
  bool is_public = false;  // which of the two
  std::string group;       // the ledger's own security group; "" = it is only in others
};

// kNotFound: EC2 has no such instance (any more).
Result<Ec2Door> FindEc2Door(ec2::AwsApi& api, const std::string& region, const std::string& id,
                            const std::string& ledger_id);

// "203.0.113.7" -> "203.0.113.7/32", in the form in which EC2 tells it; kInvalid: it is no address.
Result<std::string> AloneAsRange(const std::string& address);

// From now on `range` may reach port 22 of what is in the ledger's group. The rule carries the
// ledger's tag and the time after which `stoker gc` removes it. One of the ledger's that is there
// already is replaced: a killed session's would otherwise end too soon, or too late, and of two
// sessions at once, the one that came last has the rule and removes it. Its id; "" = there is one
// that is not the ledger's, and stays. `door.group` is not "".
Result<std::string> OpenEc2Door(ec2::AwsApi& api, const Ec2Door& door, const std::string& ledger_id,
                                const std::string& job, const std::string& range, WallTime until);
// Ok when it is gone already.
Status CloseEc2Door(ec2::AwsApi& api, const Ec2Door& door, const std::string& rule);

// What SendEc2Key asks.
ec2::Call Ec2KeyCall(const Ec2Door& door, const std::string& user, const std::string& public_key);

// For a minute `user` may come with `public_key` (one line), where the image has EC2 Instance
// Connect.
Status SendEc2Key(ec2::AwsApi& api, const Ec2Door& door, const std::string& user,
                  const std::string& public_key);

}  // namespace stoker
