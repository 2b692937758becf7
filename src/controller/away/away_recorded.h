// SPDX-License-Identifier: Apache-2.0
// What records tell of machines that no list may show yet.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "controller/away/bound_provider.h"
#include "ledger/ledger.h"

namespace stoker {

// Of all active jobs, at one provider: read when it is first asked for, once in a run. Those that
// make no sense tell nothing: whoever can write them could say anything. Of those that the store
// does not give now nothing is known. Not thread-safe; the ledger must outlive it.
class RecordedMachines {
 public:
  RecordedMachines(Ledger& ledger, std::string provider);

  Result<std::vector<AwayRecorded>> All();
  void Drop(const std::string& what);

 private:
  Result<std::vector<AwayRecorded>> Read();

  Ledger& ledger_;
  const std::string provider_;
  std::optional<std::vector<AwayRecorded>> all_;
};

}  // namespace stoker
