// SPDX-License-Identifier: Apache-2.0
// What is compared of jobs: for `compare`, and for the page.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "ledger/ledger.h"
#include "metrics/metric_totals.h"

namespace stoker {

// Texts by name, whole: what is long is cut by who shows it. Bytes of others.
struct Compared {
  using Section = std::map<std::string, std::string>;
  std::string id;
  std::string name;
  Section hyperparameters;  // view/job_row.h
  Section code;             // commit and changes, archive, command
  Section environment;      // variables of the job file, setup
  Section machine;          // where it ran or is to run, and on what
  MetricTotals::Series metrics;
  Section result;
  // Of ReadRanOf (view/ran.h); unset: it was not asked for, or is not known.
  struct RanWith {
    Section machine;  // and Python
    Section packages;
    Section variables;
  };
  std::optional<RanWith> ran;
};

// Three or four reads. `now`: by the store's clock, for what still runs.
Result<Compared> ReadCompared(Ledger& ledger, const std::string& id, WallTime now);
// Four reads more: what its newest attempt ran with. Where that cannot be read, `trouble` says so.
void ReadRanOf(Ledger& ledger, Compared* job, Status* trouble);
nlohmann::json ComparedJson(const Compared& job);

}  // namespace stoker
