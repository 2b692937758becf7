// SPDX-License-Identifier: Apache-2.0
// What carries the labels of a ledger at Google: VMs, and compact placement policies of its jobs.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "port/holding.h"

namespace stoker {

namespace gce {
class ComputeApi;
}

// In `places`, as GcePlace has them. A VM that is not named as its request would name it was made
// by somebody "like that one", labels and all: it has no token, and is nobody's to end but theirs.
// Errors: no place answers.
Result<Holdings> ListGceHoldings(gce::ComputeApi& api, const std::vector<std::string>& places,
                                 const std::string& ledger_id);
// Of a policy. Ok when it is gone already; kBusy while a VM has it.
Status EndGcePolicy(gce::ComputeApi& api, const Holding& policy);

}  // namespace stoker
