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

// A blob goes only when no record names it in a listing that began after the blob was 30 days old:
// whoever submits writes the record after making sure that the blob is young. Jobs that are active
// are never touched. A record that cannot be read keeps every blob: it may name any of them. Safe
// to kill and to repeat: a job's data goes first, its record last.
Result<Collected> CollectGarbage(Ledger& ledger, const CollectRequest& request);

}  // namespace stoker
