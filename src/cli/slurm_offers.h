// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cli/context.h"
#include "job/request.h"
#include "spec/job_spec.h"

namespace stoker::cli {

// The one way to have a job's machines of the cluster: in `partition`, "" = Slurm's default.
// kInvalid: what Slurm could not be asked for.
Result<std::vector<Offer>> ResolveSlurmOffers(Context& context, const JobSpec& spec,
                                              const std::string& partition);

bool IsOnSlurm(const JobSpec& spec);

}  // namespace stoker::cli
