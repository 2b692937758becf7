// SPDX-License-Identifier: Apache-2.0
// What this ledger has in clouds, and the end of what is over.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/status.h"
#include "cli/context.h"
#include "provider/ec2/ec2_holdings.h"

namespace stoker::cli {

struct CloudThing {
  Ec2Holding thing;
  std::string over;  // why it may be ended: "its record has ended it"; "" = it stays
  Status ended;      // of a thing that is over: what stood in the way
};

struct CloudSweep {
  std::vector<CloudThing> things;  // all that carries the ledger's tag, but for what is gone
  std::vector<std::string> regions;
  std::vector<std::string> troubles;  // what could not be asked
  WallTime now;                       // by the cloud's clock
};

// Looks in all regions that the ledger ever noted, or in all that the account has, and ends what a
// record has ended or whose own tag says that its time is past by the cloud's clock, and the
// security groups of ledgers that this person's settings have given up; nothing else.
// With `dry_run` it only looks. Errors: nothing could be asked at all.
Result<CloudSweep> SweepCloud(Context& context, bool all_regions, bool dry_run);
// The same for who comes by again and again: at most every 15 minutes on this computer. Says what
// it has ended, and what stood in the way.
void SweepCloudAtTimes(Context& context);

// "i-0abc in us-east-1a: m5.large spot, running, of job x, for 3h 2m, 0.0350 $/h, about 0.11 $".
std::string CloudLine(const CloudThing& thing, WallTime now);
nlohmann::json ToJson(const CloudSweep& sweep);

}  // namespace stoker::cli
