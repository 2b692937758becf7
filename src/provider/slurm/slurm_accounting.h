// SPDX-License-Identifier: Apache-2.0
// What Slurm's accounting has counted of jobs, as sacct prints it: sacct(1), "Job Accounting
// Fields"; the trackable resources (TRES) of slurm.conf(5), AccountingStorageTRES. Parsing is pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "port/counted.h"

namespace stoker {

class SlurmTools;

// The words behind "sacct" whose answer ParseSacct reads. Fields that all versions have.
std::vector<std::string> SacctWords(const std::vector<int64_t>& jobs);
// kCorrupt: it is not what sacct prints for these words. Steps are passed over.
Result<std::vector<CountedRun>> ParseSacct(std::string_view text);

// `gpus_asked`: the job asked for some, so that a count without any says that nobody counts.
CountedHours SumHours(const std::vector<CountedRun>& used, bool gpus_asked);

// Asks sacct of jobs whose names are of stoker's `job` (SlurmJobName): a number that Slurm has
// given to another's job since is passed over. nullopt: accounting is off, or there is no sacct.
Result<std::optional<std::vector<CountedRun>>> AskSacct(const SlurmTools& tools,
                                                        const std::vector<int64_t>& jobs,
                                                        const std::string& job);

}  // namespace stoker
