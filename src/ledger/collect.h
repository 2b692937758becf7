// SPDX-License-Identifier: Apache-2.0
// Removing what nothing refers to: old blobs, and whole jobs when asked.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "ledger/ledger.h"

namespace stoker {

struct CollectRequest {
  std::optional<Duration> jobs_older_than;  // since their end, by the store's clock; unset: no job
  bool dry_run = false;
  std::function<void(const std::string&)> progress;  // may be empty
};

struct Collected {
  std::vector<std::string> jobs;
  int blobs = 0;
  int64_t blob_bytes = 0;
};

// A copy of a blob goes when it is 30 days old and either a younger copy is there or no record
// names it that was there when the copy was old already: whoever submits makes sure of a copy of at
// most 15 days, then writes the record, and nobody writes the name of an old copy again. So a
// deletion can be late, or come twice, and takes nothing that is wanted. Jobs that are active are
// never touched, nor is what a job that is kept may still begin from (docs/checkpoints.md). A
// record that cannot be read keeps every content: it may name any of them. Safe to kill and to
// repeat: a job's data goes first, its record last.
Result<Collected> CollectGarbage(Ledger& ledger, const CollectRequest& request);

}  // namespace stoker
