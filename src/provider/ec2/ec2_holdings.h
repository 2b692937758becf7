// SPDX-License-Identifier: Apache-2.0
// All that carries the tag of a ledger in a region: instances, volumes that outlived theirs, the
// security group and rules in it that somebody made for a while, placement groups of jobs.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "base/time.h"
#include "port/holding.h"
#include "provider/ec2/ec2_provider.h"

namespace stoker {

// In one region, by their kinds. All instances or an error; of the other kinds that cannot be
// listed `troubles` gets a line each. No price is no error.
Result<std::vector<Holding>> Ec2Holdings(ec2::AwsApi& api, const std::string& region,
                                         const std::string& ledger_id,
                                         std::vector<std::string>* troubles);
// All regions that the account has, asked for in `region`.
Result<std::vector<std::string>> Ec2Regions(ec2::AwsApi& api, const std::string& region);
// By EC2's clock, as of what was listed last.
WallTime Ec2Now(const ec2::AwsApi& api);
// Ok when it is gone already.
Status EndEc2Holding(ec2::AwsApi& api, const Holding& holding);

}  // namespace stoker
