// SPDX-License-Identifier: Apache-2.0
// Deleting all that is of one id. Private to the room.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "ledger/blobs.h"
#include "ledger/collect/survey.h"
#include "ledger/ledger.h"

namespace stoker {

inline constexpr Duration kBlobAge = kBlobPeriod + kBlobPeriod;

// Returns the bytes of what was there. The manifests of its checkpoints go first, so that nothing
// half removed looks whole, and the record last, so that a removal that was killed is found again.
Result<int64_t> TakeAwayJob(Ledger& ledger, const std::string& id, bool dry_run);

// What lies below jobs/ and reports/ and is of no record: a submit that was killed before it wrote
// that, or a node that wrote once more after the job was removed.
struct LeftOver {
  std::vector<std::string> ids;
  int64_t bytes = 0;
};
// Removes what was last written a day ago. Costs one list for each job, or for each thousand
// objects where that is less.
Result<LeftOver> TakeAwayLeftOver(Ledger& ledger, const Survey& survey, bool dry_run);

}  // namespace stoker
