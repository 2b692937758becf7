// SPDX-License-Identifier: Apache-2.0
// The peers that look while this node does not (look_pace.h): what they report is read in between.
#pragma once

#include <string>
#include <vector>

#include "agent/look_pace.h"
#include "base/status.h"
#include "ledger/ledger.h"

namespace stoker {

// Reads those reports of `job` that are due at `now`, tells `pace` of them, and puts them into
// `peers`, the reports that the last whole look saw. True: some were due, so `peers` is news. A
// report that is not there, or cannot be read for a moment, is the pace's to judge; other errors
// are the store's.
Result<bool> HeedLookouts(Ledger& ledger, const std::string& job, MonoTime now, LookPace& pace,
                          std::vector<NodeReport>* peers);

}  // namespace stoker
