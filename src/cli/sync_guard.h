// SPDX-License-Identifier: Apache-2.0
// What `stoker sync --delete` does only when it is told so by name, or not at all.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "cli/context.h"
#include "port/object_store.h"
#include "store/local/folder_side.h"
#include "transfer/sync_plan.h"

namespace stoker::cli {

// One end of a sync: a bucket, or a folder.
struct SyncSide {
  std::unique_ptr<ObjectStore> store;  // behind `side`, where it is a bucket
  std::unique_ptr<TransferSide> side;
  FolderSide* folder = nullptr;  // `side`, where it is one
};

// What --delete-in takes.
inline const std::vector<std::string> kDeleteIn = {"root", "home", "bucket", "ledger"};

// Before anything is listed. kUsage: the two are one place, or one lies in the other.
Status CheckApart(const SyncSide& source, const SyncSide& target);

// Before anything is listed, with --delete. kUsage: the target is the root of the file system,
// holds a home folder, or is a whole bucket, and `allowed` has not the word for it.
Status CheckWholePlaces(const SyncSide& target, const std::vector<std::string>& allowed);

// Before `plan` is carried out. kUsage: it would remove what lies in a ledger, and `allowed` has
// not the word for it. What cannot be looked at above the target is taken for none.
Status CheckLedgers(SyncSide& target, const SideListing& there, const SyncPlan& plan,
                    const std::vector<std::string>& allowed);

// Asks before more than half of much is removed. kUsage: the answer was no, or nobody was there.
Status CheckShare(Context& context, const std::string& target, size_t objects, const SyncPlan& plan,
                  bool yes);

}  // namespace stoker::cli
