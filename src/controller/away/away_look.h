// SPDX-License-Identifier: Apache-2.0
// One run of a reconciler that lives as long as this: a pass over the ledger's active jobs and, now
// and then, a sweep. Whoever runs it, a function of a cloud, says by when it must be over.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "controller/away/bound_provider.h"
#include "ledger/ledger.h"
#include "port/broker.h"
#include "port/notifier.h"

namespace stoker {

inline constexpr Duration kAwaySweepEvery = Duration::Minutes(15);
// Between two passes that events ask for of which nobody knows whose they are.
inline constexpr Duration kAwayEventPause = Duration::Seconds(30);

struct AwayCall {
  std::string id;        // of this call; the same when it is repeated
  std::string instance;  // that something is said to have happened to; "" = it is only time
  std::string version;   // of this stoker
  Bound bound;
  std::function<Result<AskedMachine>(const Ask&)> understand;
  std::function<Duration()> left;  // until this run must be over
  Notifier* notifier = nullptr;    // tells events of jobs; nullptr: others do
};

struct AwayReport {
  std::string what;  // "all jobs", "job J", "nothing: …"
  int active = 0;
  int passed = 0;
  int changed = 0;
  int left = 0;                       // not looked at: the time was over
  std::optional<std::string> after;   // of a look at all jobs: as AwayNote::after
  std::vector<std::string> notes;     // what was decided and done, by job
  std::vector<std::string> troubles;  // what could not be; what cannot be read is left alone
  bool swept = false;
  std::vector<std::string> ended;  // by the sweep
};

// kBusy: another run is at it. Errors: nothing could be looked at. `broker`'s machines alone are
// asked for; of others the jobs are only looked at.
Result<AwayReport> LookAway(Ledger& ledger, Broker& broker, Clock& clock, const AwayCall& call);

// In one line for people.
std::string Told(const AwayReport& report);

}  // namespace stoker
