// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/status.h"

namespace stoker {

// `role`, a custom role of IAM as JSON, with what Compute Engine must allow besides: to whoever
// submits, or to the machines of a job, which replace one another, move their own leases and delete
// themselves. Source: "IAM permissions" of each method (Compute Engine v1 API). kInvalid: `role` is
// none.
Result<std::string> WithGceRights(const std::string& role, bool submitter);

}  // namespace stoker
