// SPDX-License-Identifier: Apache-2.0
// Staying with a job: its log on standard output, what happens to it on standard error, and a
// reconcile pass each time it looks. Ctrl-C leaves; the job goes on.
#pragma once

#include <optional>
#include <string>

#include "cli/terminal/context.h"
#include "job/job.h"
#include "port/allocation.h"

namespace stoker::cli {

struct AttachResult {
  Job job;
  bool detached = false;  // the user left before the end
  bool why_told = false;  // the reason for the job's end was among the events
};

struct AttachOptions {
  bool logs = true;    // print the program's output
  bool events = true;  // say what happens
  // Leave out what whoever has just submitted the job was told already.
  bool submitted = false;
  // At SIGTERM of an allocation that ends it stays until the job has saved what it has: the cluster
  // may kill all that is inside once the last of its script's processes has ended.
  std::optional<AllocationTie> tie;
};

// Returns when the job has ended and its log is printed, or when the user pressed Ctrl-C. The store
// being away for a while is said and waited out.
Result<AttachResult> Attach(Context& context, const std::string& job, const AttachOptions& options);

}  // namespace stoker::cli
