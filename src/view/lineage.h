// SPDX-License-Identifier: Apache-2.0
// Checkpoints as a user means them: those of a job, and those of the jobs that it goes on from.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "checkpoint/checkpoint_store.h"
#include "job/checkpoint_name.h"
#include "job/job.h"
#include "ledger/ledger.h"

namespace stoker {

// One that is there, whole or not.
struct KnownCheckpoint {
  std::string of;    // job id
  std::string name;  // as `checkpoints JOB` shows it: with its job in front when it is another's
  CheckpointInfo info;
  bool suspect = false;  // to the job that was asked about, or to one that it goes on from
};

struct Lineage {
  // The job's own, newest first, what was left last; then its ancestors', nearest first.
  std::vector<KnownCheckpoint> all;
  std::string cut;  // why it is not followed further; "" = to its end
};
Result<Lineage> ReadLineage(Ledger& ledger, const Job& job);
// As `checkpoints --json` has it.
nlohmann::json CheckpointJson(const KnownCheckpoint& known);

// The checkpoint that `word` means to somebody who looks at `job`: "checkpoint" (the newest whole
// one, of the job or of one that it goes on from; else what was left), "as-left" (what was left
// last), an id, or "JOB/ID". `job` of the answer is never "". nullopt: it is no checkpoint's name.
// kNotFound: there is none.
Result<std::optional<CheckpointName>> FindCheckpoint(Ledger& ledger, const Job& job,
                                                     const std::string& word);

// "checkpoint 1-3", "checkpoint 1-3 of job ab12", "what attempt 2 left (as-left-2), …".
std::string SayCheckpoint(const std::string& restore);

}  // namespace stoker
