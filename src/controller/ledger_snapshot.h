// SPDX-License-Identifier: Apache-2.0
// One look at a ledger for a pass over many jobs: what would be three requests a job is asked for
// once, by the thousand. It only ever says that there is nothing to do: see Controller::Pass.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/status.h"
#include "ledger/ledger.h"
#include "ledger/scan.h"
#include "port/provider.h"

namespace stoker {

class LedgerSnapshot {
 public:
  // Lists the reports of `jobs`; where they are many, by the thousand, and their records too. The
  // ledger must outlive it. Errors are the store's.
  static Result<LedgerSnapshot> Take(Ledger& ledger, const std::vector<std::string>& jobs);

  // By the observer's clock, when it began: nothing in it is older.
  MonoTime taken() const { return taken_; }
  // The job's record as it was listed; null = it was not, and must be got.
  const Listed* RecordOf(const std::string& job) const;
  // Its reports, complete, in the order of their keys.
  const std::vector<Listed>& ReportsOf(const std::string& job) const;
  // Machines of the job. Each provider is asked once, for all its machines, when the first job
  // wants to know: always after the reports were listed. A failure is remembered too.
  Result<InstancesSeen> MachinesOf(const std::string& provider_name, Provider& provider,
                                   const std::string& job);

 private:
  struct ByJob {
    std::map<std::string, InstancesSeen> of;
    std::vector<Unheard> unheard;
  };
  explicit LedgerSnapshot(Ledger& ledger);
  Status ListRecords(const std::vector<std::string>& jobs);
  Status ListReports(const std::vector<std::string>& jobs, bool many);

  Ledger& ledger_;
  MonoTime taken_;
  std::map<std::string, Listed> records_;
  std::map<std::string, std::vector<Listed>> reports_;
  std::map<std::string, Result<ByJob>> machines_;  // by provider
};

}  // namespace stoker
