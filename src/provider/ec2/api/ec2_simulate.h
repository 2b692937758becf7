// SPDX-License-Identifier: Apache-2.0
// What IAM's simulator says of a role: may it do that? Inside provider/ec2 only. Source:
// "SimulatePrincipalPolicy" (IAM API reference).
#pragma once

#include <map>
#include <string>
#include <utility>
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
  std::vector<std::string> lacks;       // actions that are not allowed, in the order asked
  std::map<std::string, Outcome> told;  // of each action
};

// Of an answer to `actions`; the worst of them counts. `absent`: keys that such a request does not
// have, so that a condition of them leaves nothing open. Pure.
Simulated ReadSimulation(const std::string& xml, const std::vector<std::string>& actions,
                         const std::vector<std::string>& absent = {});

// The one that says more against it.
Simulated::Outcome Worse(Simulated::Outcome one, Simulated::Outcome other);

// May the role do all of `actions` on `resource`, both ARNs, by a request that has these keys?
struct AskedRole {
  std::vector<std::string> actions;
  std::string resource;
  std::vector<std::pair<std::string, std::string>> context = {};  // "s3:prefix" -> "a/trial"
  std::vector<std::string> absent = {};                           // keys that it does not have
};

// What asks for all that `policy`, JSON of IAM, allows: a question for each statement, with names
// in the place of "*", and a value for each key of its condition. Pure. kInvalid: it is none, or it
// has a condition for which no value is known here.
Result<std::vector<AskedRole>> AskedOf(const std::string& policy, const std::string& region,
                                       const std::string& account);

// Asks once an hour. kDenied: the simulator may not be asked; as AwsApi::Read.
Result<Simulated> Simulate(AwsApi& api, const std::string& region, const std::string& role,
                           const AskedRole& question);

}  // namespace stoker::ec2
