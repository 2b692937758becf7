// SPDX-License-Identifier: Apache-2.0
// One run of what looks after jobs in a cloud while nobody is at a desk, as its environment says.
// What calls it, and sets it up, is the provider's.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/status.h"
#include "controller/away/away_look.h"
#include "port/away.h"
#include "port/broker.h"
#include "port/clock.h"

namespace stoker::cloud {

// Variables of the function that 'stoker controller --install' makes.
inline constexpr char kAwayStoreVariable[] = "STOKER_AWAY_STORE";
inline constexpr char kAwayLedgerVariable[] = "STOKER_AWAY_LEDGER";
inline constexpr char kAwayBoundVariable[] = "STOKER_AWAY_BOUND";

// What those variables say of a ledger whose store is at `store`.
std::vector<std::pair<std::string, std::string>> AwayVariables(const std::string& store,
                                                               const std::string& ledger,
                                                               const Bound& bound);
// kInvalid: a function that knows the store `there` ("" = none is known) is another ledger's than
// that in `store`, though both have one id: one bucket is a copy of the other.
Status CheckAwayStore(const std::string& there, const std::string& store);
// "" = it is not set.
std::string AwayVariable(const char* name);

struct AwayRunner {
  std::string infra;                // as people write the provider, for what to do: "aws"
  std::string id;                   // AwayCall::id
  std::string instance;             // AwayCall::instance
  std::vector<std::string> places;  // ProviderOptions::places; empty: the bound's regions
  std::unique_ptr<Broker> (*broker)(const ProviderOptions& options, Clock& clock) = nullptr;
  std::function<Result<AskedMachine>(const Ask&)> understand;
  std::function<Duration(Clock&)> left;  // AwayCall::left
};

// All is opened anew: between two runs a process may have been frozen for an hour, and a connection
// of before is worth less than it costs to find out. Writes nothing to any disk. Errors as
// LookAway's, and of what the variables say.
Result<AwayReport> RunAwayOnce(const AwayRunner& runner);

// One line of JSON, for a log.
std::string Encode(const AwayReport& report);

}  // namespace stoker::cloud
