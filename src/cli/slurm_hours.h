// SPDX-License-Identifier: Apache-2.0
// What the cluster's own accounting has counted of a job, for `show`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "cli/context.h"
#include "job/job.h"
#include "provider/slurm/slurm_accounting.h"
#include "spec/job_spec.h"

namespace stoker::cli {

struct SlurmAccount {
  std::vector<SlurmUsed> runs;
  SlurmHours hours;
};

// nullopt: nothing of it ran on Slurm, accounting is off there, or cannot be asked from here, which
// `trouble` tells. Asks sacct, at most once for a thousand jobs of Slurm, for seconds at most.
// `spec`: null when it could not be read.
std::optional<SlurmAccount> ReadSlurmAccount(Context& context, const Job& job, const JobSpec* spec,
                                             Status* trouble);

// "0.42 node-hours, 1.7 CPU-hours, 0.42 GPU-hours in 2 runs, as Slurm counts".
std::string SlurmAccountText(const SlurmAccount& account);
// Hours and runs; null what is not counted.
nlohmann::json SlurmAccountJson(const SlurmAccount& account);

}  // namespace stoker::cli
