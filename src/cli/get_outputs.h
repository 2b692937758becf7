// SPDX-License-Identifier: Apache-2.0
// 'stoker get JOB [WHAT] [DIR]' for what a job kept of its files.
#pragma once

#include <string>

#include "base/status.h"
#include "cli/terminal/context.h"
#include "transfer/transfer.h"

namespace stoker::cli {

// How `get` moves, checkpoints too: files and ranges at once, to begin with, and bytes in memory.
constexpr TransferOptions kGetMoves{32, 8, int64_t{128} << 20};

struct GetOutputsOptions {
  std::string what;       // "" = all
  std::string to;         // "" = a folder named after the job
  bool force = false;     // what is there and differs is replaced
  int node = -1;          // only what this one kept
  int attempt = 0;        // what this one kept, also where a later one replaced it; 0 = the newest
  bool profiles = false;  // `what` means traces of a profiler, unless an output is called so
};

// Fetches, and says what came, what was the same already and what was refused. kExists: something
// was refused, as it would have been overwritten; all else is there then.
Status GetOutputs(Context& context, const std::string& job, const GetOutputsOptions& options);
// Says so when `folder`, an absolute path, lies in the work directory that `job` was packed from:
// the next job that is packed there would take it along.
void TellIfPacked(Context& context, const std::string& job, const std::string& folder);
// Prints what there is.
Status ListKept(Context& context, const std::string& job, int attempt);
// Lets the next job that is packed around `folder`, which `get` has made, leave it out.
void LeaveUnpacked(const std::string& folder);

}  // namespace stoker::cli
