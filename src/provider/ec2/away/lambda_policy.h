// SPDX-License-Identifier: Apache-2.0
// What the function's role may do; inside provider/ec2 only. Pure. Source: "Actions, resources, and
// condition keys for Amazon EC2", "… for AWS Systems Manager" (Service Authorization Reference).
#pragma once

#include <string>

#include "base/status.h"
#include "port/away.h"

namespace stoker::ec2 {

// Who may take the role: Lambda alone.
std::string LambdaTrust();

// `store_policy` (of IAM, JSON), with what it needs besides: to write its log, to look, to launch
// what `bound` has, to end what carries the tag of `ledger`, and to list and remove its secrets.
// EC2 holds it to regions and types, too, and to `role_arn`, which is that of the profile.
// kInvalid: `store_policy` is none.
Result<std::string> LambdaPolicy(const std::string& store_policy, const Bound& bound,
                                 const std::string& ledger, const std::string& partition,
                                 const std::string& role_arn, const std::string& log_group);

}  // namespace stoker::ec2
