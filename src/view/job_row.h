// SPDX-License-Identifier: Apache-2.0
// A job as one row of many: what `ls --json` and the table of the page have of it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ledger/ledger.h"
#include "ledger/summary.h"

namespace stoker {

nlohmann::json SummaryJson(const Summary& job);

// In the order of the job file.
using Hyperparameters = std::vector<std::pair<std::string, std::string>>;
// As they were given, without the quotes of JSON around text; nothing where the file is unreadable.
std::optional<Hyperparameters> ReadHyperparameters(Ledger& ledger, const std::string& id);

}  // namespace stoker
