// SPDX-License-Identifier: Apache-2.0
// Removing what nothing refers to: old blobs, what killed submits left, and whole jobs when asked.
// Jobs and blobs go in two steps, an hour apart: doomed.h.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "ledger/collect/survey.h"
#include "ledger/ledger.h"

namespace stoker {

struct CollectRequest {
  std::optional<Duration> jobs_older_than;  // since their end, by the store's clock; unset: no job
  bool dry_run = false;
  std::string by;                                    // the user, for the lists
  std::function<void(const std::string&)> progress;  // may be empty
};

// What was removed, or would be.
struct Removed {
  std::vector<std::string> jobs;
  int64_t job_bytes = 0;  // of their logs, checkpoints and outputs
  int blobs = 0;
  int64_t blob_bytes = 0;
  std::map<std::string, std::string> needed;  // was doomed and stays -> the job that may need it
  std::vector<OddKey> unread;                 // lists that cannot be read: what is on them stays
  // Why the index or labels could not be written anew: they may speak of jobs that are gone.
  Status index;
};

// Removes what was doomed an hour ago, but for jobs that a record which is kept goes on from by
// now; they are doomed no more. Where a record cannot be read that may need any of them, the lists
// stay as they are. Costs one list where nothing is doomed, and what Recheck does where something
// is due. `survey`: one that was taken before, or an empty one. Safe to kill, to repeat, and for
// several at once: it first writes into the list that its jobs are being removed, from when on
// nobody takes one off, looks at the records again, and then removes a job's data, its checkpoints'
// manifests first and its record last.
Result<Removed> RemoveDue(Ledger& ledger, const CollectRequest& request, Survey* survey);

// The same with `jobs`, at once. They must be over and needed by none (MayGo, NeededOf); one that a
// record needs by the time that they are marked stays, and is in `needed`. On a full disk they go
// without the mark.
Result<Removed> RemoveNow(Ledger& ledger, const std::vector<std::string>& jobs,
                          const CollectRequest& request, Survey* survey);

// Why jobs stay although their age was asked about: ids.
struct KeptJobs {
  std::vector<std::string> active;            // they have not ended, or are being finished
  std::vector<std::string> young;             // they ended more recently
  std::map<std::string, std::string> needed;  // job -> one that is kept and may begin from it
  std::vector<std::string> unreadable;        // their records are damaged, or of a newer stoker
};

// What goes in an hour.
struct Doomed {
  std::vector<std::string> jobs;
  int64_t job_bytes = 0;
  int blobs = 0;
  int64_t blob_bytes = 0;
  std::optional<WallTime> goes;  // by the store's clock; unset: there is nothing
};

struct Collected {
  Removed removed;  // what was due, and copies that a younger one replaces
  Doomed doomed;    // by this call
  std::map<std::string, WallTime>
      waiting;                         // by an earlier one: job -> when it goes at the earliest
  Status not_doomed;                   // why nothing could be: the disk is full, as a rule
  std::vector<std::string> left_over;  // ids without a job: removed
  int64_t left_over_bytes = 0;
  KeptJobs kept;                   // empty unless jobs_older_than was given
  std::vector<std::string> blind;  // Survey::blind: they keep every job
};

// A copy of a blob goes when it is 30 days old and either a younger copy is there or no record
// names it that was there when the copy was old already: whoever submits makes sure of a copy of at
// most 15 days, then writes the record, and nobody writes the name of an old copy again. Jobs that
// are active are never touched, nor is what a job that is kept may still begin from
// (docs/resuming.md). A record that cannot be read keeps every content, since it may name any of
// them, and every job, unless the index knows how it ended. What lies below jobs/ and reports/ and
// is of no record goes a day after it was last written. Removes before it writes, so that it also
// makes room on a full disk.
Result<Collected> CollectGarbage(Ledger& ledger, const CollectRequest& request);

}  // namespace stoker
