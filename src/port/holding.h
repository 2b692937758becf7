// SPDX-License-Identifier: Apache-2.0
// What a ledger has at a provider, whatever its records say: for whoever clears up. Plain data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "job/request.h"

namespace stoker {

enum class HoldingKind {
  kMachine,
  kDisk,       // that outlived its machine
  kRule,       // that somebody made for a while: of a firewall
  kGroup,      // the ledger's own: a firewall
  kPlacement,  // a job's: its machines are near each other
  kSecret,     // a job's: a value in a vault
};

struct Holding {
  HoldingKind kind = HoldingKind::kMachine;
  std::string word;  // as the provider's own tools call the kind: "VM", "security group"
  std::string id;
  Place place;        // account and zone may be ""
  std::string what;   // "m5.large spot", "8 GiB gp3": for people
  std::string state;  // "running", "in-use"; "" where there is none
  std::string job;
  // Of a machine. The token is set only where the provider itself says that it was launched with
  // it: tags and labels are copied by people.
  std::string token;
  int index = 0;
  bool in_use = false;  // a disk of a machine, a group or a placement that a machine needs
  std::string group;    // of a rule, that it is in; of a machine, its placement
  std::string remark;   // "made by somebody else like one of stoker's"
  WallTime since;       // by the provider's clock; 0 = not told
  WallTime expires;     // what its tag or label says; 0 = nothing
  // In millionths of a dollar an hour, while it runs: of spot as the market is now, else by the
  // list. Unset = not known, or none.
  std::optional<int64_t> price;
};

// Is its time over, by the provider's clock, and may anybody end it for that? Of a machine only
// where the provider says itself whose request it is from; of a disk only while no machine has it.
bool IsExpired(const Holding& holding, WallTime now);

struct Holdings {
  std::vector<Holding> all;            // but for what is gone
  std::vector<std::string> regions;    // that were looked in, where people name them
  std::vector<std::string> troubles;   // what could not be asked: what is there is not known
  std::vector<std::string> forbidden;  // lists that older roles have no right to
  WallTime now;                        // by the provider's clock
};

}  // namespace stoker
