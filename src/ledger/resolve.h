// SPDX-License-Identifier: Apache-2.0
// What a user types for JOB -> the job's id.
#pragma once

#include <string>

#include "base/status.h"
#include "ledger/ledger.h"

namespace stoker {

struct ResolvedJob {
  std::string id;
  std::string note;  // one sentence when the word could have meant another job; "" = it is clear
};

// Which job a name stands for.
enum class NameMeans {
  kNewest,
  kRunning,  // the newest of those that have not ended, else the newest: for what acts on a job
};

// In this order: an id; "-" (the last job of `user`); a name (one of `user`'s jobs, else one of
// anybody's, and the note says so), which of one that was renamed is its present one alone; a
// beginning of exactly one id. kNotFound and kInvalid (several) name the candidates. Thread-safe.
Result<ResolvedJob> ResolveJob(Ledger& ledger, const std::string& word, const std::string& user,
                               NameMeans means = NameMeans::kNewest);

}  // namespace stoker
