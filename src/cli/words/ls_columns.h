// SPDX-License-Identifier: Apache-2.0
// The columns of `stoker ls`: the usual ones, or those that --columns names.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "cli/terminal/table.h"
#include "ledger/ledger.h"
#include "ledger/summary.h"

namespace stoker::cli {

class Context;

struct LsColumn {
  std::string head;
  ColumnRule rule;
  std::function<std::string(const Summary&)> cell;
};

// What each job is, where and since when; OWNER where not all jobs are this user's from this
// machine, HYPERPARAMETERS on request, TAGS
// and NOTE where a job has one. The cells keep `ledger` and `context`.
std::vector<LsColumn> UsualColumns(Context& context, const std::vector<Summary>& jobs,
                                   bool hyperparameters, Ledger& ledger);

// The columns that `names` ("name,status,lr") asks for, in this order, in any case. What is no
// column is a hyperparameter of at least one of `jobs`, "hp.NAME" in any case, or one of their
// metrics: its last value, or min.NAME, max.NAME. kUsage for what is none of these, with the names
// of the columns. None of them is left out of a narrow table.
Result<std::vector<LsColumn>> NamedColumns(Context& context, const std::vector<Summary>& jobs,
                                           const std::string& names, Ledger& ledger);

// "lr=0.1 opt={...}", as they were given and then as the program said, at most `most` and how many
// more there are; "?" where the job file cannot be read.
std::string HyperparametersOf(Ledger& ledger, const std::string& id, size_t most);

}  // namespace stoker::cli
