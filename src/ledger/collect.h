// SPDX-License-Identifier: Apache-2.0
// Removing what nothing refers to: old blobs, and whole jobs when asked.
#pragma once

#include <functional>
#include <map>
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

// Why jobs stay although their age was asked about: ids.
struct KeptJobs {
  std::vector<std::string> active;            // they have not ended, or are being finished
  std::vector<std::string> young;             // they ended more recently
  std::map<std::string, std::string> needed;  // job -> one that is kept and may begin from it
  std::vector<std::string> unreadable;        // their records are damaged, or of a newer stoker
};

struct Collected {
  std::vector<std::string> jobs;
  int64_t job_bytes = 0;  // of their logs, checkpoints and outputs
  KeptJobs kept;          // empty unless jobs_older_than was given
  int blobs = 0;
  int64_t blob_bytes = 0;
  Status index;  // why the index could not be written anew: it may list jobs that are gone
};

// A copy of a blob goes when it is 30 days old and either a younger copy is there or no record
// names it that was there when the copy was old already: whoever submits makes sure of a copy of at
// most 15 days, then writes the record, and nobody writes the name of an old copy again. So a
// deletion can be late, or come twice, and takes nothing that is wanted. Jobs that are active are
// never touched, nor is what a job that is kept may still begin from (docs/checkpoints.md). A
// record that cannot be read keeps every content: it may name any of them. Safe to kill and to
// repeat: a job's data goes first, its record last. Removes before it writes, so that it also makes
// room on a full disk.
Result<Collected> CollectGarbage(Ledger& ledger, const CollectRequest& request);

}  // namespace stoker
