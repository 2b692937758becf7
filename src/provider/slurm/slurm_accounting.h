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
#include "base/time.h"

namespace stoker {

class SlurmTools;

// A job of Slurm, or one run of it where it was requeued.
struct SlurmUsed {
  int64_t job = 0;
  std::string name;
  std::string state;  // Slurm's word: "COMPLETED", "CANCELLED by 1000"
  Duration elapsed;
  // Of the allocation; nullopt: not counted (yet, or at all).
  std::optional<int64_t> nodes, cpus, gpus;
  bool operator==(const SlurmUsed&) const = default;
};

// The words behind "sacct" whose answer ParseSacct reads. Fields that all versions have.
std::vector<std::string> SacctWords(const std::vector<int64_t>& jobs);
// kCorrupt: it is not what sacct prints for these words. Steps are passed over.
Result<std::vector<SlurmUsed>> ParseSacct(std::string_view text);

// What several runs took together.
struct SlurmHours {
  size_t runs = 0;
  double nodes = 0, cpus = 0;
  std::optional<double> gpus;  // nullopt: GPUs are not counted there (AccountingStorageTRES)
};
// `gpus_asked`: the job asked for some, so that a count without any says that nobody counts.
SlurmHours SumSlurmHours(const std::vector<SlurmUsed>& used, bool gpus_asked);

// Asks sacct of jobs whose names begin with `name` ("stoker-JOB."): a number that Slurm has given
// to another's job since is passed over. nullopt: accounting is off, or there is no sacct.
Result<std::optional<std::vector<SlurmUsed>>> AskSacct(const SlurmTools& tools,
                                                       const std::vector<int64_t>& jobs,
                                                       const std::string& name);

}  // namespace stoker
