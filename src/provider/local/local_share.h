// SPDX-License-Identifier: Apache-2.0
// What this machine has to share and what of it is free, by the tickets of its line.
#pragma once

#include <vector>

#include "policy/local_queue.h"
#include "port/place_info.h"

namespace stoker {

// Pure. A job holds what it asks for once, however many machines it has here.
PlaceInfo ShareOf(const LocalCapacity& capacity, const std::vector<LocalTicket>& tickets);

}  // namespace stoker
