// SPDX-License-Identifier: Apache-2.0
// What IAM's simulator says of a role: may it do that? Inside provider/ec2 only. Source:
// "SimulatePrincipalPolicy" (IAM API reference).
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "provider/ec2/api/aws_api.h"

namespace stoker::ec2 {

struct Simulated {
  enum class Outcome {
    kAllowed,
    kNoPolicy,  // none of the role's own allows it: one of the resource's still may
    kDenied,    // one says no, which nothing can allow
    kUnclear,   // a policy depends on what only a real request has, or the answer cannot be read
  };
  Outcome outcome = Outcome::kUnclear;
  std::vector<std::string> lacks;  // actions that are not allowed, in the order asked
};

// Of an answer to `actions`; the worst of them counts. Pure.
Simulated ReadSimulation(const std::string& xml, const std::vector<std::string>& actions);

// May the role do all of `actions` on the resource, both ARNs? Asks once an hour. kDenied: the
// simulator may not be asked; as AwsApi::Read.
Result<Simulated> Simulate(AwsApi& api, const std::string& region, const std::string& role,
                           const std::vector<std::string>& actions, const std::string& resource);

}  // namespace stoker::ec2
