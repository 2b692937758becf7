// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "port/rights.h"

namespace stoker {

namespace ec2 {
// Parts of the function that looks after the jobs of a ledger are named by this and its id.
inline constexpr char kAwayName[] = "stoker-away-";

// Files of the rights beside those of submitters and nodes (port/rights.h).
inline constexpr char kTrustFile[] = "node-trust.json";
inline constexpr char kNodeLogsFile[] = "node-logs.json";
inline constexpr char kInstallerFile[] = "installer.json";
inline constexpr char kImagesFile[] = "images.json";
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

}  // namespace stoker
