// SPDX-License-Identifier: Apache-2.0
// All that carries the tag of a ledger in a region, for whoever clears up: instances, volumes that
// outlived theirs, the security group and rules in it that somebody made for a while, placement
// groups of jobs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/time.h"
#include "provider/ec2/ec2_provider.h"

namespace stoker {

enum class Ec2Kind { kInstance, kVolume, kGroup, kRule, kPlacement };

struct Ec2Holding {
  Ec2Kind kind = Ec2Kind::kInstance;
  std::string region;
  std::string id;
  std::string what;   // "m5.large spot", "8 GiB gp3": for people
  std::string state;  // "running", "in-use"; "" where there is none
  std::string zone;
  std::string job;
  // Of an instance. The token is set only where EC2 itself says that it was launched with it: tags
  // are copied by people.
  std::string token;
  int index = 0;
  bool gone = false;    // terminated, or soon: EC2 tells of those for an hour
  bool in_use = false;  // a volume of a machine, a group that a rule or a machine needs
  std::string group;    // of a rule; of placement, of an instance
  WallTime since;       // by EC2's clock; 0 = not told
  WallTime expires;     // what `stoker-expires` says; 0 = nothing
  // In millionths of a dollar an hour, while it runs: of spot as the market is now, else by the
  // list. Unset = not known, or none.
  std::optional<int64_t> price;
};

// In one region, in the order of Ec2Kind. All instances or an error; of the other kinds that cannot
// be listed `troubles` gets a line each. Prices are looked up where they can be: none is no error.
Result<std::vector<Ec2Holding>> Ec2Holdings(ec2::AwsApi& api, const std::string& region,
                                            const std::string& ledger_id,
                                            std::vector<std::string>* troubles);
// All regions that the account has, asked for in `region`.
Result<std::vector<std::string>> Ec2Regions(ec2::AwsApi& api, const std::string& region);
// Is its time over, by EC2's clock, and may anybody end it for that? Of a machine only where EC2
// says itself whose request it is from; of a volume only while no machine has it.
bool IsExpired(const Ec2Holding& holding, WallTime now);
// By EC2's clock, as of what was listed last.
WallTime Ec2Now(const ec2::AwsApi& api);
// Ok when it is gone already. Never of a group.
Status EndEc2Holding(ec2::AwsApi& api, const Ec2Holding& holding);

}  // namespace stoker
