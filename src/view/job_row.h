// SPDX-License-Identifier: Apache-2.0
// A job as one row of many: what `ls --json` and the table of the page have of it.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ledger/ledger.h"
#include "ledger/summary.h"
#include "spec/job_spec.h"

namespace stoker {

nlohmann::json SummaryJson(const Summary& job);
// Where it is, as people write it for --infra: "aws/us-east-1a", "local".
std::string WhereText(const Summary& job);

// In the order of the job file.
using Hyperparameters = std::vector<std::pair<std::string, std::string>>;
// Of the job file and --hp, then what the command says by name ("--lr 0.1") where they do not; as
// they were given, without the quotes of JSON around text; "***" for what looks like a secret.
// Nothing where the file is unreadable. `said`: with what the program said of itself, which takes
// another request.
std::optional<Hyperparameters> ReadHyperparameters(Ledger& ledger, const std::string& id,
                                                   bool said = false);

// The same of a job whose spec (null: unreadable) and totals were read: what the program said of
// itself (MetricTotals::hyperparameters) counts more than its command, and less than the job file.
Hyperparameters HyperparametersOf(const JobSpec* spec,
                                  const std::map<std::string, std::string>& said);

}  // namespace stoker
