// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/status.h"

namespace stoker {

// `policy`, a policy of IAM as JSON, with what EC2 must allow besides: to whoever submits, or to
// the machines of a job, which replace one another and move their own leases. `region` says in
// which part of Amazon's cloud; `role`: of the machines. Source: "Actions, resources, and condition
// keys for Amazon EC2" (Service Authorization Reference). kInvalid: `policy` is none.
Result<std::string> WithEc2Rights(const std::string& policy, const std::string& region,
                                  const std::string& role, bool submitter);

}  // namespace stoker
