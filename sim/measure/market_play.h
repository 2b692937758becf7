// SPDX-License-Identifier: Apache-2.0
// One job in a market, from its submission to its end, under the policies that ship: attempts are
// retried as policy/retry.h says, and a launch goes wherever the provider has room (a launch names
// no zone yet), first zone first.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/measure/long_job.h"
#include "sim/measure/market.h"
#include "sim/world/world.h"

namespace stoker::sim {

struct MarketZone {
  std::string name;
  Trace trace;
};

struct MarketSetting {
  std::string label;
  std::vector<MarketZone> zones;   // empty: as many machines as wanted, always
  int64_t offset_ms = 0;           // where in the traces the job is submitted
  int64_t lead = 120'000;          // of the platform's notices
  int64_t controller_ms = 30'000;  // between two passes of a daemon (tier 4)
  int64_t limit_ms = 60LL * 86'400'000;
  LongJob job;
  uint64_t seed = 1;
  Price price;
};

struct MarketOutcome {
  MarketReport report;
  std::string state;  // of the job, as the record names it
  // In a thousand: how much of the job's life all zones together had room for its machines.
  int64_t open_share = 1000;
  int64_t stood_still_ms = 0;  // no node made a step, between the first one and the last
  int64_t launches = 0;        // entries of the record
  int64_t record_bytes = 0;    // of the record, at the end
  std::optional<BreachFound> breach;
};

// Each trace is taken to say whether a machine for each node can be had: machines of a zone are
// trace × nodes. All checkers watch.
MarketOutcome PlayMarket(const MarketSetting& setting);

}  // namespace stoker::sim
