// SPDX-License-Identifier: Apache-2.0
// Tells of a job's events, each once to each entry of its `notify`, whoever looks and whoever dies:
// an object is made before the first try (ledger/notified.h), and who made it tries. One that says
// nothing for a while is taken over, which may repeat what had been sent.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "job/job.h"
#include "ledger/ledger.h"
#include "ledger/notified.h"
#include "policy/events.h"
#include "port/clock.h"
#include "port/notifier.h"
#include "reconcile/reconcile.h"
#include "spec/job_spec.h"

namespace stoker {

// So long what does not get through is tried, by who looks; a try later than that is the last.
inline constexpr Duration kKeepTelling = Duration::Minutes(10);
// So long who has begun to send is waited for.
inline constexpr Duration kSendingFor = Duration::Minutes(2);
// So long a send takes where nobody has died.
inline constexpr Duration kSendTakes = Duration::Seconds(15);
// What is not told within this time of one pass is for the next.
inline constexpr Duration kTellFor = Duration::Seconds(30);

// Not thread-safe.
class Teller {
 public:
  // Whether no time is left to tell one thing more: what was begun and not ended is repeated.
  using Enough = std::function<bool()>;
  // All must outlive it. `enough` may be null.
  Teller(Ledger& ledger, Notifier& notifier, Clock& clock, Enough enough = nullptr)
      : ledger_(ledger), notifier_(notifier), clock_(clock), enough_(std::move(enough)) {}

  struct Told {
    bool pending = false;  // something is still to be told, by somebody
    bool busy = false;     // somebody else has just begun to
    std::vector<std::string> notes;
  };
  // Tells what is due: of a job that goes on one thing, of one that has ended all. Errors: those of
  // the store.
  Result<Told> Tell(const Job& job, const JobSpec& spec, WallTime now,
                    const std::vector<ReportSeen>& reports);
  // Whether Tell has something to do. Lists, once for each job that has events, what was told.
  bool Pending(const Job& job, const JobSpec& spec, WallTime now);
  void KeepOnly(const std::set<std::string>& jobs);

 private:
  struct Due {
    JobEvent event;
    int entry = 0;
  };
  std::vector<Due> DueOf(const Job& job, const JobSpec& spec, WallTime now) const;
  Status Learn(const Job& job);
  Status LearnWarnings(const Job& job, const JobSpec& spec, WallTime now);
  Result<bool> TellOne(const Job& job, const JobSpec& spec, const Due& due, WallTime now,
                       const std::vector<ReportSeen>& reports, Told* told);

  Ledger& ledger_;
  Notifier& notifier_;
  Clock& clock_;
  const Enough enough_;
  using Key = std::pair<std::string, int>;     // event, entry
  std::map<std::string, std::set<Key>> over_;  // by job, once it was learned
  struct Warned {
    std::vector<std::string> texts;
    std::vector<WallTime> since;  // when this process first had each
    MonoTime asked;
    bool last = false;  // asked for once the job had ended
  };
  std::map<std::string, Warned> warned_;  // by job, of those that want it
  // What became of a try where that could not be written.
  std::map<std::string, std::map<Key, Notified>> unwritten_;
};

}  // namespace stoker
