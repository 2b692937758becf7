// SPDX-License-Identifier: Apache-2.0
// Observe, reconcile, record, act: one pass over one job. The attached CLI, every verb, every agent
// and the daemon run exactly this; passes overlap harmlessly, since a record changes only by
// compare-and-swap and machines are asked for by token.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/status.h"
#include "controller/ledger_snapshot.h"
#include "controller/teller.h"
#include "job/job.h"
#include "ledger/ledger.h"
#include "ledger/quiet_nodes.h"
#include "ledger/records.h"
#include "ledger/reports.h"
#include "port/clock.h"
#include "port/provider.h"
#include "reconcile/outcomes.h"
#include "reconcile/reconcile.h"
#include "spec/job_spec.h"

namespace stoker {

// A node's report tells of a notice that its attempt, which trains, does not heed yet. Pure.
bool HasNewNotice(const Job& job, const std::vector<ReportRead>& reports);

struct PassResult {
  Job job;  // as it stands after the pass
  WallTime store_now;
  std::vector<ReportSeen> reports;
  std::vector<MachineSeen> machines;
  std::vector<std::string> notes;  // what was decided and done, for people
  bool changed = false;            // the record was written by this pass
  std::optional<Status> trouble;   // an action that failed; the next pass tries again
};

// Gives the provider of a name; kInvalid when there is none of that name. Null: this process is not
// to ask it, which is no trouble of its looks; others do.
using ProviderLookup = std::function<Result<Provider*>(const std::string& name)>;

// Not thread-safe: one per thread. Remembers, between passes, what this observer saw before.
class Controller {
 public:
  // `host`: the machine that this is, as far as local machines are its own; asked for when a job
  // names one. Unset: of none.
  using HostLookup = std::function<std::string()>;
  Controller(Ledger& ledger, ProviderLookup providers, Clock& clock, HostLookup host = nullptr);

  // `act` false: only looks (a node without the right to launch). To one whose `host` is not that
  // of the job, its local machines are a place that does not answer: what "local" means there, it
  // cannot see and must not ask for. Of a job that can have no others, it only looks. Errors:
  // kNotFound = no such job; others are the store's. A lost compare-and-swap is not an error: the
  // next pass decides anew.
  Result<PassResult> Pass(const std::string& job_id, bool act = true);
  // Reads the record alone. Unset: it is not what the last pass here read, and another one is due.
  // Errors as Pass.
  Result<std::optional<Job>> Glance(const std::string& job_id);
  // The same for one of many jobs: what `look` shows decides only whether there is anything to do.
  // Then it is looked at anew and done as Pass(job_id) does: nothing is ever written, asked for or
  // ended by an observation that others share, or that is as old as a pass over all jobs takes.
  Result<PassResult> Pass(const std::string& job_id, LedgerSnapshot& look);
  // `job` was submitted by this process: nobody can be expected to do better at asking for its
  // first machines, so that their being denied to it ends the job.
  void Submitted(const std::string& job) { submitted_.insert(job); }
  // This process may ask `provider` alone. What the others are like is known, their machines are
  // not, and where it has a choice it chooses none of theirs (Observed::places). Away from
  // every machine of a job, it leaves jobs of providers that it does not know to others; a node
  // never leaves its own.
  enum class From { kNode, kAway };
  void AsksOnly(const std::string& provider, From from = From::kNode) {
    asks_only_ = provider;
    is_away_ = from == From::kAway;
  }
  // This process may end after its first pass over a job: what it saw of quiet nodes is kept in the
  // store for whoever looks next, and what others have kept there counts. Costs nothing while every
  // node reports.
  void KeepQuietNodes(bool keep) { keep_quiet_nodes_ = keep; }
  // Called of a job that has ended and has secrets in a vault, which it removes: no machine of it
  // begins any more. An error is a trouble of the pass, and the job stays active: it is called
  // again now and then, by whoever looks after the job. False: some are for others to remove.
  using Forget = std::function<Result<bool>(const Job& job, const JobSpec& spec)>;
  void ForgetWith(Forget forget) { forget_ = std::move(forget); }
  // Events of jobs are told from here, until `enough`. Both must outlive this.
  void TellThrough(Notifier& notifier, Teller::Enough enough = nullptr) {
    teller_.emplace(ledger_, notifier, clock_, std::move(enough));
  }
  // Lets go of what it remembers of other jobs: they have ended.
  void KeepOnly(const std::set<std::string>& jobs);

 private:
  struct Sequence {
    int64_t seq = 0;
    std::string incarnation;
    MonoTime since;
  };

  bool IsOfThisComputer(const Job& job) const;
  bool MayAsk(const std::string& provider) const {
    return asks_only_.empty() || provider == asks_only_;
  }
  bool IsNotAskedHere(const std::string& provider) const;
  // Its local machines are another computer's, which cannot be seen from here.
  bool IsOnAnotherComputer(const Job& job, const std::string& provider) const;
  // kInvalid where it is; kUnavailable where this process is not to ask.
  Result<Provider*> ProviderOf(const Job& job, const std::string& name) const;
  Result<const JobSpec*> SpecOf(const Job& job);
  using Describe =
      std::function<Result<InstancesSeen>(const std::string& name, Provider& provider)>;
  Status ObserveMachines(const Job& job, const Describe& describe, Observed* seen);
  // `listened` = when the reports were listed, by this observer's clock.
  void ObserveReports(const Job& job, const std::vector<ReportRead>& reports, MonoTime listened,
                      Observed* seen);
  // What Reconcile decides by, and all of it that a pass tells.
  Observed Observe(const JobRead& read, const JobSpec& spec, const std::vector<ReportRead>& reports,
                   MonoTime listened, const Describe& describe, PassResult* result);
  Status ObserveUnheard(const Job& job, const std::string& name, const InstancesSeen& instances,
                        Observed* seen);
  // Asks, of each machine that is over before its node was heard of, what it has said of why.
  void ObserveBoots(const Job& job, Observed* seen);
  PlaceSeen PlaceFor(const Job& job, const std::string& name);
  // Whether what is kept in the store of quiet nodes counts in this pass.
  bool MindsQuietNodes(const Job& job, const Observed& seen) const;
  // Reads it, counts it, and gives what is to be kept instead.
  Result<QuietNodes> HeedQuietNodes(const Job& job, Observed* seen);
  Status KeepQuietNodesOf(const Result<QuietNodes>& looks, const PassResult& result);
  // What a notice that is news asks for, before anything is asked of a provider but what it needs;
  // true if that has changed the record.
  Result<bool> Hurry(const JobRead& read, const JobSpec& spec,
                     const std::vector<ReportRead>& reports, PassResult* result);
  Result<PassResult> AfterHurry(const std::string& job_id, PassResult hurried);
  bool RefusedForGood(const Job& job, int attempt, const Observed& seen, Code code);
  Status ObserveCheckpoints(const Job& job, Observed* seen, PassResult* result);
  Status Act(const Job& job, const JobSpec& spec, const Decision& decision, Outcomes* outcomes);
  Status Send(const Job& job, const JobSpec& spec, const Request& request, Outcomes* outcomes);
  Teller::Told TellEvents(const JobSpec& spec, PassResult* result);
  Status CarryOut(const JobSpec& spec, Decision decision, Outcomes* outcomes, PassResult* result);
  Result<bool> ForgetSecrets(const Job& job, const JobSpec& spec, WallTime store_now);
  Status Retire(const Job& job);
  Status Note(const std::string& job, const Outcomes& outcomes, PassResult* result);

  Ledger& ledger_;
  ProviderLookup providers_;
  Clock& clock_;
  const HostLookup host_;
  Forget forget_;
  // A vault that did not let go of a value is asked again so late.
  static constexpr Duration kForgetAgain = Duration::Seconds(30);
  struct Forgotten {
    Result<bool> last;  // what it came to
    MonoTime at;
  };
  std::map<std::string, Forgotten> forgotten_;  // by job
  ReportReader reports_;
  std::map<std::string, JobRead> records_;  // as last read, by job
  // Of one attempt, without a look in between that was not refused.
  struct Refusals {
    int attempt = 0;
    MonoTime since;
    MonoTime last;
  };
  std::map<std::string, Refusals> refusals_;  // by job: no checkpoint can be sealed
  std::map<std::string, MonoTime> looked_;    // at its reports, by job
  std::map<std::string, JobSpec> specs_;      // by digest
  std::map<std::string, std::map<std::string, Sequence>> sequences_;  // by job, then by report key
  std::set<std::string> submitted_;
  bool keep_quiet_nodes_ = false;
  std::optional<Teller> teller_;  // unset: nobody is told from here
  std::string asks_only_;         // "" = it may ask all
  bool is_away_ = false;
  std::set<std::string> heeded_;  // jobs of which it has asked for what others had kept
};

}  // namespace stoker
