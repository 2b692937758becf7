// SPDX-License-Identifier: Apache-2.0
// A job for this machine that is submitted inside an allocation of Slurm.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/context.h"
#include "job/job.h"
#include "provider/slurm/slurm_allocation.h"

namespace stoker::cli {

// Ties those of `offers` that are this machine's to the allocation that this process is inside of,
// if it is of one, and says what that means. `outlive`: as the user asked; said where it means
// nothing.
void TieToAllocation(Context& context, bool outlive, std::vector<Offer>* offers);

// Of such a job; nullopt: it is tied to none.
std::optional<SlurmTie> TieOf(const Job& job);

// Is the allocation about to end, or over, as far as Slurm tells now?
bool IsEnding(Clock& clock, const SlurmTie& tie);

}  // namespace stoker::cli
