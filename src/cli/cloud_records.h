// SPDX-License-Identifier: Apache-2.0
// What the records of a ledger say of machines that a cloud lists, for whoever clears up.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "job/job.h"
#include "ledger/ledger.h"
#include "ledger/records.h"

namespace stoker::cli {

inline constexpr char kEndedByRecord[] = "its record has ended it";

// Reads each record once; what tags or labels say of the job only helps to find it. Not
// thread-safe.
class CloudRecords {
 public:
  // `ledger` must live as long.
  explicit CloudRecords(Ledger& ledger) : ledger_(ledger) {}

  // The launch that the machine of this token and index serves is closed, and the machine is not
  // kept any more (keep_failed). False where no record
  // knows of it, or it cannot be read: that ends nothing.
  bool HasEnded(const std::string& job, const std::string& token, int index);
  // The job has ended, or has no record: that comes before anything is made for it.
  bool IsOver(const std::string& job);

 private:
  // Null: there is none, or it cannot be read.
  const JobRead* Read(const std::string& id);

  Ledger& ledger_;
  std::map<std::string, std::optional<JobRead>> jobs_;
  std::set<std::string> lost_;  // those that have no record
};

}  // namespace stoker::cli
