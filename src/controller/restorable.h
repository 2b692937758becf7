// SPDX-License-Identifier: Apache-2.0
// Looks up what a job may begin from, its ancestors' included.
#pragma once

#include <string>

#include "base/status.h"
#include "job/job.h"
#include "ledger/ledger.h"
#include "policy/restore.h"

namespace stoker {

struct RestorableRead {
  Restorable generations;
  std::string cut;  // Ancestors::cut
};

// Looks into each checkpoint, since a damaged one must not be restored. `all` false: ancestors are
// left out where what the job has of its own will do for the next decision. Errors are the store's.
Result<RestorableRead> ReadRestorable(Ledger& ledger, const Job& job, bool all);

}  // namespace stoker
