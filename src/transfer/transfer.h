// SPDX-License-Identifier: Apache-2.0
// Carries out a plan: several files and several parts of a file at once, as many as move more, in
// bounded memory, and so that another process can go on where this one was killed.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "port/clock.h"
#include "port/transfer_side.h"
#include "transfer/sync_memory.h"
#include "transfer/sync_plan.h"
#include "transfer/transfer_memory.h"

namespace stoker {

struct TransferOptions {
  int workers = 64;       // at most so many files and parts at once
  int first_workers = 4;  // to begin with
  // What buffers and parts in memory may take together. Lists of names come on top: some 300 bytes
  // a file.
  int64_t memory = int64_t{192} << 20;
  // The files are of use together only: after the first failure nothing more is begun.
  bool all_or_nothing = false;
};

struct TransferProgress {
  int64_t files = 0;
  int64_t bytes = 0;  // done, those of failed files included
  int workers = 0;
};

struct TransferReport {
  int64_t files = 0;
  int64_t bytes = 0;       // moved
  int64_t kept_bytes = 0;  // of parts that an earlier run had moved
  int64_t removed = 0;
  int64_t modes = 0;            // files of which only the executable bit was changed
  bool remove_skipped = false;  // as something failed
  std::vector<OddKey> failed;   // by key; not what was only not begun
};

// Who moves files, and with how much.
struct Movers {
  Crew* crew = nullptr;  // null: the calling thread alone
  // Tells how much so many workers move; null: all of them work from the start.
  Clock* clock = nullptr;
  TransferOptions options{1, 1};
};

// What each worker of `movers` can do `count` times in all: work(0) … work(count - 1), in any
// order. Nothing is begun after a failure; returns the first.
Status WorkThrough(const Movers& movers, size_t count,
                   const std::function<Status(size_t index)>& work);

// `files`, large ones first, from `source` to `target`, under the same keys. Never fails as a
// whole: what failed is in the report, file by file. `progress` is called by any thread, one at a
// time.
TransferReport MoveFiles(TransferSource& source, TransferTarget& target, TransferMemory& memory,
                         const Movers& movers, const std::vector<ObjectInfo>& files,
                         const std::function<void(const TransferProgress&)>& progress = nullptr);
// The order that MoveFiles wants.
void SortLargeFirst(std::vector<ObjectInfo>* files);

// Both sides, listed at once.
struct TransferLists {
  SideListing source;
  SideListing target;
};
Result<TransferLists> ListSides(TransferSide& source, TransferSide& target);
// What follows from the sides themselves: times, and what names may be.
PlanRules RulesFor(const TransferSide& source, const TransferSide& target);

struct TransferParts {
  TransferSide& source;
  TransferSide& target;
  SyncMemory& memory;
  Crew& crew;
  Clock& clock;
};

// Settles what `plan` is unsure of, by the checksums of both sides: a file of a folder is read for
// it, an object of a bucket is asked for its own. Those that differ, or cannot be compared, are to
// be copied; `note`: those that do not are remembered. None is left in plan->unsure.
void SettleUnsure(const TransferParts& parts, const TransferOptions& options, bool note,
                  SyncPlan* plan);

// Gives files of the target that are the same the executable bit of the source's.
void SetModes(TransferTarget& target, const SyncPlan& plan, TransferReport* report);

// MoveFiles of what the plan copies, in place of what it removes; then removes the rest of that,
// unless something failed.
TransferReport RunTransfer(const TransferParts& parts, const SyncPlan& plan,
                           const TransferOptions& options,
                           const std::function<void(const TransferProgress&)>& progress = nullptr);

}  // namespace stoker
