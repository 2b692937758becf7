// SPDX-License-Identifier: Apache-2.0
// Machines that cannot begin: whether it makes sense to ask for more of them. Pure.
#pragma once

#include <string>

#include "job/job.h"

namespace stoker {

// So many machines of one slot in a row that have said of themselves why they could not begin,
// where that does not pass, end a job of which no machine ever began.
inline constexpr int kMostFailedBoots = 2;

// Why no other machine is worth asking for, with what to do; "" = it is.
std::string WhyBootsFail(const Job& job);

}  // namespace stoker
