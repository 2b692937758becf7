// SPDX-License-Identifier: Apache-2.0
// What the accounting of the places that a job ran in has counted of it, for `show`.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "cli/terminal/context.h"
#include "job/job.h"
#include "port/counted.h"
#include "spec/job_spec.h"

namespace stoker::cli {

struct CountedThere {
  const BrokerTraits* provider = nullptr;
  CountedUse counted;
  Status trouble;  // why it is not known
};

// Of those where something is counted, or could not be asked. `spec`: null when it could not be
// read.
std::vector<CountedThere> ReadCounted(Context& context, const Job& job, const JobSpec* spec);

// "0.42 node-hours, 1.7 CPU-hours, 0.42 GPU-hours in 2 runs, as Slurm counts".
std::string CountedText(const CountedThere& there);
// Hours and runs; null what is not counted.
nlohmann::json CountedJson(const CountedUse& counted);

}  // namespace stoker::cli
