// SPDX-License-Identifier: Apache-2.0
// What this ledger has at Google, and the end of what is over.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "cli/context.h"
#include "provider/gce/gce_holdings.h"

namespace stoker::cli {

struct GoogleThing {
  GceHolding machine;
  std::string over;  // why it may be ended: "its record has ended it"; "" = it stays
  Status ended;      // of one that is over: what stood in the way
};

struct GoogleSweep {
  std::vector<GoogleThing> things;    // all VMs that carry the ledger's labels, and its policies
  std::vector<std::string> troubles;  // what could not be asked
  WallTime now;                       // by Google's clock
};

// Looks in all projects that the ledger ever noted, and ends what a record has ended or whose own
// label says that its time is past by Google's clock; nothing else. With `dry_run` it only looks.
// `by_hand`: that placement policies may not be listed is a trouble, too. Errors: nothing could be
// asked at all.
Result<GoogleSweep> SweepGoogle(Context& context, bool by_hand, bool dry_run);
// The same by itself, and says what it has ended, and what stood in the way.
void SweepGoogleAloud(Context& context);

// "VM stoker-x-0 in us-central1-a: e2-standard-2 spot, running, of job x, for 3h 2m, price not
// known".
std::string GoogleLine(const GoogleThing& thing);
// One object for each machine, with the keys that cloud_sweep.h gives those of EC2.
nlohmann::json ThingsToJson(const GoogleSweep& sweep);

}  // namespace stoker::cli
