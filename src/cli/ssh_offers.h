// SPDX-License-Identifier: Apache-2.0
// What a pool of boxes offers a job.
#pragma once

#include <string>
#include <vector>

#include "cli/context.h"
#include "job/request.h"
#include "spec/job_spec.h"

namespace stoker::cli {

// As ResolveOffers, of `--infra ssh/POOL`: asks each box whether it could ever run a node of the
// job, and whether it sees the job's store. Boxes that cannot, or do not answer, are said; where
// none can, it is kInvalid, or kUnavailable if one might. `has_private`: the job has secrets that
// this machine keeps for it.
Result<std::vector<Offer>> ResolveSshOffers(Context& context, const JobSpec& spec,
                                            const std::string& pool, WallTime submitted,
                                            bool has_private);

// Its nodes are boxes of a pool.
bool IsOnBoxes(const JobSpec& spec);

}  // namespace stoker::cli
