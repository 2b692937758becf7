// SPDX-License-Identifier: Apache-2.0
// A job for this machine that is submitted inside an allocation of a cluster.
#pragma once

#include <optional>
#include <vector>

#include "client/open/client.h"
#include "job/job.h"
#include "port/allocation.h"

namespace stoker::client {

struct TieWish {
  bool outlive = false;  // as the user asked; said where it means nothing
  bool may_stay = true;  // this very verb waits for the save if its script lets it
};

// Ties those of `offers` that are this machine's to the allocation that this process is inside of,
// if it is of one, and says what that means.
void TieToAllocation(Client& client, const TieWish& wish, std::vector<Offer>* offers);

// Of such a job, by where it asks for machines now; nullopt: it is tied to none.
std::optional<AllocationTie> TieOf(const Job& job);

}  // namespace stoker::client
