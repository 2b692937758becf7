// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/status.h"
#include "client/open/client.h"

namespace stoker::client {

// Takes away what uploads have left that nobody goes on with: those below the ledger, and those of
// `stoker sync` on this machine, in whatever buckets its journals name. Only what stoker itself
// writes, and what was begun more than three days ago. Returns how many; what could not be asked is
// said.
int64_t SweepUploads(Client& client, bool dry_run);

}  // namespace stoker::client
