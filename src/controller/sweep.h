// SPDX-License-Identifier: Apache-2.0
// What a ledger has at a provider, and the end of what is over: what a record has ended, what its
// own tag says is past its time, what no job asks for any more. Nothing else is ended.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/status.h"
#include "ledger/ledger.h"
#include "port/broker.h"

namespace stoker {

inline constexpr char kEndedByRecord[] = "its record has ended it";

struct SweepRequest {
  bool everywhere = false;  // not only where the ledger has noted that something may be
  bool dry_run = false;     // only look
  // Ids of ledgers whose owner gave them up: nobody looks after what they have.
  std::set<std::string> given_up;
};

struct Swept {
  Holding thing;
  std::string over;  // why it may be ended; "" = it stays
  Status ended;      // of a thing that is over: what stood in the way
};

struct Sweeping {
  std::vector<Swept> things;  // all that the ledger has there
  std::vector<std::string> regions;
  std::vector<std::string> troubles;   // what could not be asked
  std::vector<std::string> forbidden;  // as of Holdings
  WallTime now;                        // by the provider's clock
};

// Errors: nothing could be asked at all.
Result<Sweeping> SweepProvider(Ledger& ledger, Broker& broker, const SweepRequest& request);

}  // namespace stoker
