// SPDX-License-Identifier: Apache-2.0
// What belongs to a job and stays on the machine that it was submitted on: secrets, and variables
// of the submitting shell. One file a job, "<state>/private/<ledger>-<job>", mode 0600, never in a
// ledger; it lives from just before the job is in the ledger until somebody sees that it has ended.
// The folder goes with the last of them.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "base/time.h"

namespace stoker {

struct LocalPrivate {
  std::vector<std::pair<std::string, std::string>> shell;
  std::vector<std::pair<std::string, std::string>> secrets;
  std::string workdir;  // the folder that was packed, for paths into it; "" = none
  bool operator==(const LocalPrivate&) const = default;
};

// Values may hold any bytes but NUL. Whole or not at all, and durable.
Status WriteLocalPrivate(const std::string& state, const std::string& ledger_id,
                         const std::string& job, const LocalPrivate& content);
// kNotFound = the job has none here; kCorrupt.
Result<LocalPrivate> ReadLocalPrivate(const std::string& state, const std::string& ledger_id,
                                      const std::string& job);
// The value of one of the job's secrets, where it lies here.
std::optional<std::string> FindPrivate(const std::string& state, const std::string& ledger_id,
                                       const std::string& job, const std::string& name);
// Ok when there is none.
Status RemoveLocalPrivate(const std::string& state, const std::string& ledger_id,
                          const std::string& job);

// Removes what a killed WriteLocalPrivate of any ledger left behind before then.
void SweepLocalPrivate(const std::string& state, WallTime before);

struct LocalPrivateSeen {
  std::string job;
  WallTime changed;
};
// Jobs of this ledger that have one.
std::vector<LocalPrivateSeen> ListLocalPrivate(const std::string& state,
                                               const std::string& ledger_id);

}  // namespace stoker
