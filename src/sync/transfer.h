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
#include "sync/sync_memory.h"
#include "sync/sync_plan.h"

namespace stoker {

struct TransferOptions {
  int hands = 64;       // at most so many files and parts at once
  int first_hands = 4;  // to begin with
  // What buffers and parts in memory may take together. Lists of names come on top: some 300 bytes
  // a file.
  int64_t memory = int64_t{192} << 20;
};

struct TransferProgress {
  int64_t files = 0;
  int64_t bytes = 0;  // done, those of failed files included
  int hands = 0;
};

struct TransferReport {
  int64_t files = 0;
  int64_t bytes = 0;       // moved
  int64_t kept_bytes = 0;  // of parts that an earlier run had moved
  int64_t removed = 0;
  bool remove_skipped = false;  // as something failed
  std::vector<OddKey> failed;   // by key
};

// Both sides, listed at once.
struct TransferLists {
  SideListing source;
  SideListing target;
};
Result<TransferLists> ListSides(TransferSide& source, TransferSide& target, Clock& clock);

struct TransferParts {
  TransferSide& source;
  TransferSide& target;
  SyncMemory& memory;
  Crew& crew;
  Clock& clock;
};

// Never fails as a whole: what failed is in the report, file by file. `progress` is called by any
// thread, one at a time.
TransferReport RunTransfer(const TransferParts& parts, const SyncPlan& plan,
                           const TransferOptions& options,
                           const std::function<void(const TransferProgress&)>& progress = nullptr);

}  // namespace stoker
