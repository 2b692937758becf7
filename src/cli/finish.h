// SPDX-License-Identifier: Apache-2.0
// What `run` and `retry` do once the job is in the ledger.
#pragma once

#include <string>

#include "cli/terminal/context.h"
#include "job/job.h"
#include "spec/job_spec.h"

namespace stoker::cli {

// What Ctrl-C says before a job is made.
inline constexpr char kNotSubmitted[] = "stopped: no job was submitted";
// SubmitRequest::before_record: Ctrl-C says from now on that there may be one.
void SubmitsNow();

// Starts the first pass; then stays with the job to its end (summary, its exit code), or prints its
// id when detached.
Status AfterSubmit(Context& context, const Job& job, const JobSpec& spec, bool detach, bool quiet);

// The spec as it would be stored; with --json as a JSON string.
std::string PrintSpecFor(const Context& context, const JobSpec& spec);

}  // namespace stoker::cli
