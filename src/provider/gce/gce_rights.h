// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/status.h"
#include "port/rights.h"

namespace stoker {

// `role`, a custom role of IAM as JSON, with what Compute Engine must allow besides: to whoever
// submits, or to the machines of a job, which replace one another, move their own leases and delete
// themselves. Source: "IAM permissions" of each method (Compute Engine v1 API). kInvalid: `role` is
// none.
Result<std::string> WithGceRights(const std::string& role, bool submitter);

// Of a store in a bucket of Google's, with roles of a project, since what machines are made of is
// in no bucket. kInvalid: the store is elsewhere.
Result<Rights> AddGceRights(Rights rights, const std::string& store_url);

}  // namespace stoker
