// SPDX-License-Identifier: Apache-2.0
// Takes away the parts of a function; inside provider/ec2 only.
#pragma once

#include <string>

#include "port/away.h"
#include "provider/ec2/api/aws_api.h"

namespace stoker::ec2 {

// A code of a service's refusal: there is no such thing.
bool IsGone(const std::string& code);

// As AwayHost::Uninstall. Of a region that cannot be asked, or in which something stays, `left`
// says so, with why. Asks each region what is there before and after.
AwayTaken TakeAway(AwsApi& api, const std::string& ledger, const AwayWhere& where);

}  // namespace stoker::ec2
