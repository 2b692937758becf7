// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "port/broker.h"
#include "provider/ec2/ec2_provider.h"

namespace stoker {

namespace ec2 {
// Parts of the function that looks after the jobs of a ledger are named by this and its id.
inline constexpr char kAwayName[] = "stoker-away-";
}  // namespace ec2

// `policy`, a policy of IAM as JSON, with what EC2 must allow besides: to whoever submits, or to
// the machines of a job, which replace one another and move their own leases. `region` says in
// which part of Amazon's cloud; `role`: of the machines. Source: "Actions, resources, and condition
// keys for Amazon EC2" (Service Authorization Reference). kInvalid: `policy` is none.
Result<std::string> WithEc2Rights(const std::string& policy, const std::string& region,
                                  const std::string& role, bool submitter);

// `rights` of the store at `store_url`, with what WithEc2Rights adds to each of them, the role of
// the machines, and the commands that make it. Of a bucket of Google's, whose roles stay as they
// are, also how Google gets to know that role. `role`: of the machines and of their instance
// profile.
Result<Rights> AddEc2Rights(Rights rights, const std::string& store_url, const std::string& region,
                            const std::string& role);

enum class Tried { kAllowed, kDenied, kUnknown };
struct RightTried {
  std::string action;  // "ec2:RunInstances"; of several that a call needs the one that lacked
  Tried outcome = Tried::kUnknown;
  std::string why;  // "" where it is allowed
};
// Tries what whoever submits needs of EC2: with DryRun where the service has it, else by reading,
// and by putting a parameter as a secret would be one, which is removed at once. What can only be
// tried on a machine is kUnknown while the ledger has none there.
std::vector<RightTried> TryEc2Rights(ec2::AwsApi& api, const std::string& region,
                                     const std::string& ledger_id, const std::string& profile);

// The same for people, with what to do about those that lack.
std::vector<Finding> TellRights(const std::vector<RightTried>& all, const std::string& region);

}  // namespace stoker
