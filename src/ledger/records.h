// SPDX-License-Identifier: Apache-2.0
// Job records: created once, then changed only by compare-and-swap.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/status.h"
#include "job/job.h"
#include "ledger/ledger.h"

namespace stoker {

struct JobRead {
  Job job;
  Version version;
  WallTime store_now;
};

// All are thread-safe.

// Writes spec, active marker and record, in this order, so that whatever dies in between leaves
// nothing that anybody acts on wrongly. The blobs that the job names must be there already.
// kExists: the id is taken (draw another).
Result<JobRead> CreateJob(Ledger& ledger, Job job, const std::string& spec_text);

// kNotFound: no such job. kTooNew, kCorrupt: see job/encoding.h; both only after reading again.
Result<JobRead> ReadJob(Ledger& ledger, const std::string& id);
// The same; when `known` is what is there still, it is not decoded again.
Result<JobRead> ReadJob(Ledger& ledger, const std::string& id, const JobRead& known);
// The job file as submitted. kCorrupt: it is another one than the record's `spec_digest` says.
Result<std::string> ReadSpec(Ledger& ledger, const Job& job);

// Proposes `changed` in place of what `read` saw: rev + 1 and a fresh nonce. kConflict: somebody
// else wrote first; read and decide again. A request without an answer is settled by reading back.
Result<JobRead> UpdateJob(Ledger& ledger, const JobRead& read, Job changed);

// Reads, lets `change` edit, proposes; again while others win. `change` returns false to leave the
// record as it is. kConflict after very many losses.
Result<JobRead> MutateJob(Ledger& ledger, const std::string& id,
                          const std::function<Result<bool>(Job&)>& change);

// Asks for the job's end in its record, which whoever reconciles carries out. A job that has ended
// or is to end already stays as it is.
Result<JobRead> CancelInRecord(Ledger& ledger, const std::string& id, const std::string& by);

// Machines of a job that failed are not kept any longer (keep_failed): whoever reconciles ends
// them, unless they have read it and left. Of all others nothing changes.
Result<JobRead> EndKeptInRecord(Ledger& ledger, const std::string& id, const std::string& by);

// Ids that have a marker in active/, ordered.
Result<std::vector<std::string>> ActiveJobs(Ledger& ledger);
// Only after the job's summary is in the index.
Status RemoveActive(Ledger& ledger, const std::string& id);

}  // namespace stoker
