// SPDX-License-Identifier: Apache-2.0
// What `stoker sync --delete` does only when it is told so by name, or not at all.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "client/fetch/sync_side.h"
#include "client/open/client.h"
#include "transfer/sync_plan.h"

namespace stoker::client {

// What --delete-in takes.
inline const std::vector<std::string> kDeleteIn = {"root", "home", "bucket", "ledger"};

// Before anything is listed. kUsage: the two are one place, or one lies in the other.
Status CheckApart(const SyncSide& source, const SyncSide& target);

// Before anything is listed, with --delete. kUsage: the source is one file, and all else in the
// target would go.
Status CheckWholeSource(const SyncSide& source);

// Before anything is listed, with --delete. kUsage: the target is the root of the file system,
// holds a home folder, or is a whole bucket, and `allowed` has not the word for it.
Status CheckWholePlaces(const SyncSide& target, const std::vector<std::string>& allowed);

// Before `plan` is carried out. kUsage: it would remove what lies in a ledger, and `allowed` has
// not the word for it. What cannot be looked at above the target is taken for none.
Status CheckLedgers(SyncSide& target, const SideListing& there, const SyncPlan& plan,
                    const std::vector<std::string>& allowed);

// Asks before more than half of much is removed. kUsage: the answer was no, or nobody was there.
Status CheckShare(Client& client, const std::string& target, size_t objects, const SyncPlan& plan,
                  bool yes);

}  // namespace stoker::client
