// SPDX-License-Identifier: Apache-2.0
// `stoker run --from JOB[/CHECKPOINT]`: other code, the same work.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "client/open/client.h"
#include "job/job.h"
#include "spec/job_spec.h"
#include "spec/parse.h"

namespace stoker::client {

struct FromJob {
  Job job;
  JobSpec spec;                   // as it was submitted
  std::string text;               // the same as stored
  std::string called;             // its other name; "" = that of the job file
  std::string from;               // Job::from of the job that is to go on
  std::string begins;             // what it begins from, as things stand; "<job>/<checkpoint>"
  std::vector<std::string> line;  // LineOf `job`: none of it is to be removed any more
};

// `word` is JOB or JOB/CHECKPOINT, JOB as every verb takes it, CHECKPOINT an id or "as-left".
// kNotFound: no such job or checkpoint, or none at all. kUsage: it is of another store.
// What of it was to be removed stays, but with `dry_run`.
Result<FromJob> FindFrom(Client& client, const std::string& word, bool dry_run);

// Its own run with the folder as it is today: the flags of `parse` count as with a job file.
Result<JobSpec> SpecOfItsOwn(Client& client, const FromJob& from, ParseOptions parse);

// Takes over what `spec` does not set itself: hyperparameters and inputs by name, and for a command
// (`with_paths`) where the checkpoints lie. Says what it took.
void TakeOver(Client& client, const FromJob& from, bool with_paths, JobSpec* spec);

// What a job that goes on from `job` begins from as things stand, in a line for its user.
void SayWhereItBegins(Client& client, const FromJob& from);

}  // namespace stoker::client
