// SPDX-License-Identifier: Apache-2.0
// What records tell of machines that no list may show yet.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "controller/away/bound_provider.h"
#include "ledger/ledger.h"

namespace stoker {

// Of all active jobs, at one provider: read when it is first asked for, once in a run, and again of
// a job that was looked at, whose lost machines are no longer there for others. Those that make no
// sense tell nothing: whoever can write them could say anything. Of those that the store does not
// give now nothing is known. Not thread-safe; the ledger must outlive it.
class RecordedMachines {
 public:
  RecordedMachines(Ledger& ledger, std::string provider);

  Result<std::vector<AwayRecorded>> All();
  void Changed(const std::string& job);
  void Drop(const std::string& what);

 private:
  using ByJob = std::map<std::string, std::vector<AwayRecorded>>;
  Status ReadAll();
  Status Read(const std::string& id, ByJob* all);

  Ledger& ledger_;
  const std::string provider_;
  std::optional<ByJob> by_job_;
};

}  // namespace stoker
