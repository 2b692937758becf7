// SPDX-License-Identifier: Apache-2.0
// Machines that cannot begin: whether it makes sense to ask for more of them. Pure.
#pragma once

#include <string>
#include <vector>

#include "job/job.h"

namespace stoker {

// So many machines of one slot in a row that have said of themselves why they could not begin,
// where that does not pass, are enough of a region (of a provider's account).
inline constexpr int kMostFailedBoots = 2;

// No machine of the job ever began, and enough of them could not in the region of `place`.
bool CannotBeginIn(const Job& job, const Place& place);
// Why no other machine is worth asking for, with what to do; "" = it is, here or in another region
// of `offers`, what the job may ask for (empty: what it has asked for is all).
std::string WhyBootsFail(const Job& job, const std::vector<Offer>& offers = {});

}  // namespace stoker
