// SPDX-License-Identifier: Apache-2.0
// How long nodes have said nothing, out of looks that single observers took one after the other. A
// node can be called silent only by who listened, and who looks once each minute does not know what
// was in between: the store may have been out of the node's reach then. So the longest of the gaps
// does not count, and after a very long one everything begins anew. Pure.
#pragma once

#include <vector>

#include "job/job.h"
#include "ledger/quiet_nodes.h"
#include "reconcile/reconcile.h"

namespace stoker {

// A longer gap between two looks, and nobody was looking.
inline constexpr Duration kNobodyLooked = Duration::Minutes(10);

// True when some node that should be reporting has not, for so long that the next who looks needs
// to know when it was first seen like that.
bool AnyQuiet(const Job& job, const std::vector<ReportSeen>& reports);

// What is to be kept after a look at `now`, given what the look before has kept.
QuietNodes NextQuietNodes(const QuietNodes& before, const Job& job,
                          const std::vector<ReportSeen>& reports, WallTime now);

// Raises `unchanged` of those reports that these looks have seen unchanged for longer.
void CountQuietNodes(const QuietNodes& looks, std::vector<ReportSeen>* reports);

}  // namespace stoker
