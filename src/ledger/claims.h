// SPDX-License-Identifier: Apache-2.0
// The claim on (attempt, slot): what makes "at most one node runs the program" true. The store
// enforces it; launch tokens only make a second machine unlikely.
#pragma once

#include <string>

#include "base/status.h"
#include "ledger/ledger.h"

namespace stoker {

struct ClaimHolder {
  std::string instance_id;
  std::string boot_id;
  int launch = 0;
  std::string incarnation;  // random per agent process
};

enum class ClaimResult {
  kWon,         // ours, made by this very process
  kOursBefore,  // made by a former agent process of this instance
  kOther,       // somebody else's: power off
};

struct ClaimRead {
  ClaimResult result = ClaimResult::kOther;
  ClaimHolder holder;
};

// Create-only. Transient errors: unknown; claiming again settles it.
Result<ClaimRead> ClaimAttempt(Ledger& ledger, const std::string& job, int attempt, int slot,
                               const ClaimHolder& me);

}  // namespace stoker
