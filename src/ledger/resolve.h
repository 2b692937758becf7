// SPDX-License-Identifier: Apache-2.0
// What a user types for JOB -> the job's id.
#pragma once

#include <string>

#include "base/status.h"
#include "ledger/ledger.h"
#include "ledger/summary.h"

namespace stoker {

struct ResolvedJob {
  std::string id;
  std::string note;  // one sentence when the word could have meant another job; "" = it is clear
};

// Who asks, as records have it.
struct Person {
  std::string me;    // "" = has none yet
  std::string user;  // a name that others may have, too
  std::string host;  // the id of the computer; "" = not known
};

// kUnsure: of this user name, from before there were ids, and from who knows which computer.
enum class Whose { kMine, kUnsure, kOther };
Whose WhoseIs(const Summary& job, const Person& person);

// Which job a name stands for.
enum class NameMeans {
  kNewest,
  kRunning,  // the newest of those that have not ended, else the newest: for what acts on a job
};

// In this order: an id; "-" (the person's last job); a name (one of the person's jobs, else one of
// anybody's, and the note says so), which of one that was renamed is its present one alone; a
// beginning of exactly one id. kNotFound and kInvalid (several) name the candidates. Thread-safe.
Result<ResolvedJob> ResolveJob(Ledger& ledger, const std::string& word, const Person& person,
                               NameMeans means = NameMeans::kNewest);

}  // namespace stoker
