// SPDX-License-Identifier: Apache-2.0
// The jobs that a job goes on from: what it retries, what that one retried, and so on.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "job/job.h"
#include "ledger/ledger.h"

namespace stoker {

inline constexpr int kMostAncestors = 64;

struct Ancestors {
  std::vector<Job> jobs;  // nearest first
  // Why the last of them is not followed to the one that it names; "" = it names none.
  std::string cut;
  // The one named there, if it has a record that cannot be read: what it saved may be whole.
  std::string unread;
};

// One read each. Never more than kMostAncestors, nor any of them twice: records that name one
// another in a circle are followed once around. A record that is gone or damaged ends the row;
// errors are the store's.
Result<Ancestors> ReadAncestors(Ledger& ledger, const Job& job);

}  // namespace stoker
