// SPDX-License-Identifier: Apache-2.0
// Jobs of several nodes get their machines on several computers one by one, and each may hold what
// another waits for. So that this ends: who holds something without being able to begin, because
// others of its job have not come, gives it to whoever comes before it in line. Pure.
//
// All computers order jobs alike (priority, then when they were submitted), so that of those who
// wait for each other one comes first everywhere, and it gets all that it asks for.
#pragma once

#include <string>
#include <vector>

#include "provider/local/local_queue_folder.h"

namespace stoker {

// So long it waits for the others before it gives way.
inline constexpr Duration kGatherFor = Duration::Seconds(60);

// For whom `mine`, which holds what it was granted and cannot begin, makes room; "" = for nobody:
// none that comes before it waits here for something that it has, or it would not start for that.
std::string GivesWayTo(const LocalCapacity& capacity, const std::vector<LocalTicketSeen>& seen,
                       const std::string& mine, WallTime now);

}  // namespace stoker
