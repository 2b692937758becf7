// SPDX-License-Identifier: Apache-2.0
// What the nodes of a job report: one object per (attempt, rank), one writer each.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/status.h"
#include "job/job.h"
#include "ledger/ledger.h"
#include "ledger/scan.h"

namespace stoker {

// Writes `report` (its seq is the caller's to raise). The one writer is the agent that holds the
// claim of (attempt, rank), or waits for it.
Status WriteReport(Ledger& ledger, const NodeReport& report);
// kNotFound when there is none.
Result<NodeReport> ReadReport(Ledger& ledger, const std::string& job, int attempt, int rank);

struct ReportRead {
  NodeReport report;
  WallTime written;  // Last-Modified, by the store's clock
};

// Reads all reports of a job, and gets only those that changed since it last looked. Not
// thread-safe.
class ReportReader {
 public:
  explicit ReportReader(Ledger& ledger) : ledger_(ledger) {}
  // A report that is damaged or from a newer stoker is left out and named in `trouble`.
  Result<std::vector<ReportRead>> Read(const std::string& job, std::string* trouble = nullptr);
  // The same without listing: `listed` are all objects below the job's reports.
  Result<std::vector<ReportRead>> Read(const std::string& job, const std::vector<Listed>& listed,
                                       std::string* trouble = nullptr);
  // Lets go of what it remembers of other jobs' reports.
  void KeepOnly(const std::set<std::string>& jobs);

 private:
  struct Cached {
    Version version;
    NodeReport report;
  };
  Ledger& ledger_;
  std::map<std::string, std::map<std::string, Cached>> cache_;  // by job, then by key
};

}  // namespace stoker
