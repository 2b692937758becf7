// SPDX-License-Identifier: Apache-2.0
// What differs between two folders or buckets, copied from one to the other.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "base/time.h"
#include "client/fetch/sync_filter.h"
#include "client/open/client.h"
#include "transfer/sync_plan.h"
#include "transfer/transfer.h"

namespace stoker::client {

struct SyncWish {
  std::string source;
  std::string target;
  bool remove = false;                 // from the target what the source does not have
  bool update = false;                 // what is newer in the target stays
  bool allow_empty = false;            // there may be nothing in the source
  bool yes = false;                    // more than half may be removed unasked
  std::vector<std::string> delete_in;  // of kDeleteIn
  bool dry_run = false;                // only plan
  std::vector<FilterRule> rules;
  TransferOptions how;
};

struct Synced {
  SyncPlan plan;
  TransferReport report;  // empty when it was only planned
  Duration spent;         // with the listing
  Status nothing;         // kNotFound: all that the source has was left out
};

// Goes on where an earlier one was cut off. Says what of the filter is not as it was meant. The
// guards of sync_guard.h hold: nothing is changed where one of them refuses. What could not be
// copied is in the report, and no error.
Result<Synced> Sync(Client& client, const SyncWish& wish);

}  // namespace stoker::client
