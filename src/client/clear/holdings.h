// SPDX-License-Identifier: Apache-2.0
// What this ledger has at providers that rent machines, in words, and the end of what is over.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "client/open/client.h"
#include "controller/sweep.h"

namespace stoker::client {

struct ProviderSweep {
  const BrokerTraits* provider = nullptr;
  Sweeping found;
};

// Of all providers, one after the other; ledgers that this person's settings have given up are
// added to `request`. Where a provider could not be asked at all, that is said.
std::vector<ProviderSweep> SweepProviders(Client& client, SweepRequest request);
// The same for who comes by again and again: at most every 15 minutes on this computer. Says what
// it has ended, and what stood in the way.
void SweepProvidersAtTimes(Client& client);

// "instance i-0abc in us-east-1a: m5.large spot, running, of job x, for 3h 2m, 0.0350 $/h, about
// 0.11 $".
std::string HoldingLine(const Holding& thing, WallTime now);
// {"regions": [...], "things": [...], "troubles": [...]} of all together.
nlohmann::json ToJson(const std::vector<ProviderSweep>& sweeps);

}  // namespace stoker::client
