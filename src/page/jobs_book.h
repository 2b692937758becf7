// SPDX-License-Identifier: Apache-2.0
// The table of jobs, as rows that are told once and then only when they change: ten thousand are
// sent to a browser once. Also which jobs somebody looks at, and what is new of them.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <vector>

#include "base/status.h"
#include "ledger/ledger.h"
#include "ledger/summary.h"

namespace stoker::page {

// Thread-safe.
class JobsBook {
 public:
  explicit JobsBook(Ledger& ledger) : ledger_(ledger) {}
  // Reads the list, and hyperparameters of at most `specs` jobs of which they are not known yet.
  // True: something has changed.
  Result<bool> Refresh(size_t specs);
  // {"stamp", "rows": rows that changed after `since` (0: all), "gone": ids, "warnings"}, as text.
  std::string Since(int64_t since) const;
  bool Has(const std::string& id) const;

 private:
  nlohmann::json RowOf(const Summary& job, size_t* specs);
  Ledger& ledger_;
  mutable std::mutex mutex_;
  struct Row {
    std::string text;
    int64_t changed = 0;
    int64_t order = 0;       // newest first
    int64_t final_rev = -1;  // of a job that has ended and whose row is whole
    std::string said;        // what people said of it then
  };
  std::map<std::string, Row> rows_;
  std::map<std::string, int64_t> gone_;
  std::vector<std::string> warnings_;
  int64_t stamp_ = 0;
  struct Given {
    std::string text;  // JSON
    bool of_ended = false;
  };
  std::map<std::string, Given> hyperparameters_;  // by job; only Refresh
  std::mutex refreshing_;
};

}  // namespace stoker::page
