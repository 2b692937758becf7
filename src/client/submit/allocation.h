// SPDX-License-Identifier: Apache-2.0
// A job for this machine that is submitted inside an allocation of Slurm.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "client/open/client.h"
#include "job/job.h"
#include "provider/slurm/slurm_allocation.h"

namespace stoker::client {

struct TieWish {
  bool outlive = false;  // as the user asked; said where it means nothing
  bool may_stay = true;  // this very verb waits for the save if its script lets it
};

// Ties those of `offers` that are this machine's to the allocation that this process is inside of,
// if it is of one, and says what that means.
void TieToAllocation(Client& client, const TieWish& wish, std::vector<Offer>* offers);

// Of such a job, by where it asks for machines now; nullopt: it is tied to none.
std::optional<SlurmTie> TieOf(const Job& job);

// Is the allocation about to end, or over, as far as Slurm tells now?
bool IsEnding(Clock& clock, const SlurmTie& tie);

}  // namespace stoker::client
