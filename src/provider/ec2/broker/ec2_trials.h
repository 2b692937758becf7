// SPDX-License-Identifier: Apache-2.0
// What `stoker doctor --infra aws/…` finds out of the rights that `--iam` prints: each is tried, or
// the simulator of IAM is asked, or it is named as one that is not. A right without any of these
// fails ec2_trials_test.cc.
#pragma once

#include <string>
#include <vector>

#include "port/broker.h"
#include "port/rights.h"
#include "provider/ec2/ec2_provider.h"

namespace stoker {

enum class Tried { kAllowed, kDenied, kUnknown };
struct RightTried {
  std::string action;  // "ec2:RunInstances"; of several that a call needs the one that lacked
  Tried outcome = Tried::kUnknown;
  std::string why;  // "" where it is allowed
};
// Tries what whoever submits needs of Amazon beside the bucket: with DryRun where the service has
// it, else by reading, by a parameter that is put as a secret would be and removed at once, and by
// what is let through to be refused for its words. What can only be tried on a machine, a volume or
// a security group of the ledger's is kUnknown while it has none there. Blocks for some seconds.
std::vector<RightTried> TryEc2Rights(ec2::AwsApi& api, const std::string& region,
                                     const std::string& ledger_id, const std::string& profile);

// The same for people, with what to do about those that lack.
std::vector<Finding> TellRights(const std::vector<RightTried>& all, const std::string& region);

// Of all other rights of `rights`, as AddEc2Rights has them: those of the machines' role by IAM's
// simulator, and by their names those that nothing tries. `topics`: ARNs of SNS in the settings.
// Blocks for some seconds.
std::vector<Finding> TellOtherRights(ec2::AwsApi& api, const std::string& region,
                                     const std::string& profile, Rights rights,
                                     const std::vector<std::string>& topics);

namespace ec2 {

// ---- pure, for tests ----
// The actions that TryEc2Rights tries, or names where they lack for a call that needs them, too.
std::vector<std::string> TriedActions();

// "" = that file of the rights is looked at by nobody; else how: "tried", "simulated", "not tried",
// "no rights".
std::string HowLookedAt(const std::string& file);

}  // namespace ec2
}  // namespace stoker
