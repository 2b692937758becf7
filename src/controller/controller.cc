// SPDX-License-Identifier: Apache-2.0
#include "controller/controller.h"

#include <algorithm>

#include "base/deliberate_bug.h"
#include "controller/restorable.h"
#include "ledger/index.h"
#include "ledger/paths.h"
#include "ledger/records.h"
#include "spec/parse.h"
#include "sync/checkpoint_store.h"

namespace stoker {
namespace {

MachineState StateOf(InstanceState state) {
  switch (state) {
    case InstanceState::kRequested:
    case InstanceState::kBooting:
      return MachineState::kStarting;
    case InstanceState::kRunning:
    case InstanceState::kStopping:
      return MachineState::kRunning;
    case InstanceState::kStopped:
    case InstanceState::kGone:
      return MachineState::kGone;
  }
  return MachineState::kGone;
}

// So long one observer is refused what may be a mistake of a moment (403 while a policy changes).
constexpr Duration kRefusedForGood = Duration::Minutes(10);
// Between two looks of one observer; longer ones, and it has not been watching.
constexpr Duration kLongestGap = Duration::Seconds(45);

// Nothing is begun for a job that has ended or is to end: it gets there also when its spec is lost,
// or another one than was submitted.
Result<const JobSpec*> SpecToGoBy(Result<const JobSpec*> spec, const Job& job, PassResult* result) {
  static const JobSpec kNone;
  const Code code = spec.code();
  const bool lost = code == Code::kCorrupt || code == Code::kInvalid || code == Code::kNotFound;
  if (!lost || (!IsFinal(job.state) && !job.cancel)) return spec;
  result->trouble = spec.status();
  return &kNone;
}

LaunchRequest RequestFor(Ledger& ledger, const std::string& url, const Job& job,
                         const JobSpec& spec, const Launch& launch) {
  LaunchRequest request;
  request.token = BugIsOn("invented-token") ? ledger.Nonce() : launch.token;
  request.ledger_id = ledger.id();
  request.store_url = url;
  request.job = job.id;
  request.launch = launch.number;
  request.binary_digest = job.binary_digest;
  if (!BugIsOn("time-limit-forgotten")) request.limit = launch.limit;
  if (!BugIsOn("request-never-expires")) request.not_after = launch.not_after;
  request.ending = spec.ending;
  return request;
}

}  // namespace

Controller::Controller(Ledger& ledger, ProviderLookup providers, Clock& clock, HostLookup host)
    : ledger_(ledger),
      providers_(std::move(providers)),
      clock_(clock),
      host_(std::move(host)),
      reports_(ledger) {}

Result<const JobSpec*> Controller::SpecOf(const Job& job) {
  const auto found = specs_.find(job.spec_digest);
  if (found != specs_.end()) return &found->second;
  STOKER_ASSIGN(const std::string text, ReadSpec(ledger_, job));
  auto spec = ParseStoredSpec(text);
  if (!spec.ok()) return spec.status().WithContext("the spec of job " + job.id);
  return &specs_.emplace(job.spec_digest, std::move(*spec)).first->second;
}

Status Controller::ObserveMachines(const Job& job, const Describe& describe, Observed* seen) {
  seen->machines_known = true;
  seen->absent_means_gone = true;
  std::vector<std::string> names;
  for (const Launch& launch : job.launches) {
    if (std::find(names.begin(), names.end(), launch.provider) == names.end()) {
      names.push_back(launch.provider);
    }
  }
  for (const std::string& name : names) {
    const auto provider = providers_(name);
    const auto instances = provider.ok() ? describe(name, **provider)
                                         : Result<std::vector<InstanceSeen>>(provider.status());
    if (!instances.ok()) {
      // Not knowing is no reason to fail the pass: what needs no machine still goes on.
      seen->machines_known = BugIsOn("failed-describe-is-empty");
      return instances.status().WithContext("asking " + name + " for its machines");
    }
    seen->absent_means_gone &= (*provider)->traits().describe_is_immediate;
    for (const InstanceSeen& instance : *instances) {
      for (const Launch& launch : job.launches) {
        if (launch.token != instance.token) continue;
        seen->machines.push_back(
            {instance.id, launch.number, StateOf(instance.state), instance.why, instance.freed});
      }
    }
  }
  return Status::Ok();
}

void Controller::ObserveReports(const Job& job, const std::vector<ReportRead>& reports,
                                MonoTime listened, Observed* seen) {
  // Silence counts only while it was listened to: after an hour without the store, every node must
  // first get the time to say something.
  const auto looked = looked_.find(job.id);
  const bool away = looked == looked_.end() || listened - looked->second > kLongestGap;
  looked_[job.id] = listened;
  auto& sequences = sequences_[job.id];
  for (const ReportRead& read : reports) {
    const NodeReport& report = read.report;
    Sequence& sequence = sequences[paths::Report(report.job, report.attempt, report.rank)];
    if (away || sequence.seq != report.seq || sequence.incarnation != report.incarnation) {
      sequence = {report.seq, report.incarnation, listened};
    }
    seen->reports.push_back({report, read.age, listened - sequence.since});
  }
}

// Whoever may write no checkpoint cannot seal any: the job must end all the same. A commit on its
// way would have arrived by then: this observer has been refused for so long, all the time, or, for
// one that has just come, no node of the attempt has said anything for so long.
bool Controller::RefusedForGood(const Job& job, int attempt, const Observed& seen, Code code) {
  if (code != Code::kDenied && code != Code::kNoSpace && code != Code::kInvalid) {
    refusals_.erase(job.id);
    return false;
  }
  const MonoTime now = clock_.Mono();
  Refusals& before = refusals_.emplace(job.id, Refusals{attempt, now, now}).first->second;
  if (before.attempt != attempt || now - before.last > kLongestGap) before = {attempt, now, now};
  before.last = now;
  if (now - before.since >= kRefusedForGood) return true;
  bool any = false;
  for (const ReportSeen& one : seen.reports) {
    if (one.report.attempt != attempt) continue;
    if (one.age < kRefusedForGood) return false;
    any = true;
  }
  return any;
}

Status Controller::ObserveCheckpoints(const Job& job, Observed* seen, PassResult* result) {
  // The newest is asked for when an attempt is over: from now on it must stay the newest.
  for (const Attempt& attempt : job.attempts) {
    if (attempt.state == AttemptState::kProvisioning || attempt.state == AttemptState::kEnded) {
      continue;
    }
    const Status sealed = SealAttempt(ledger_.store(), job.id, attempt.number);
    if (sealed.ok()) {
      refusals_.erase(job.id);
    } else if (RefusedForGood(job, attempt.number, *seen, sealed.code())) {
      result->trouble = sealed.WithContext("its checkpoints are not sealed");
    } else {
      return sealed;
    }
  }
  STOKER_ASSIGN(RestorableRead read, ReadRestorable(ledger_, job, false));
  seen->checkpoints = std::move(read.generations);
  return Status::Ok();
}

// The outward half: only what the record, as written, says. Every step may be repeated.
Status Controller::Act(const Job& job, const JobSpec& spec, const Decision& decision) {
  Status first;
  const auto keep = [&](const Status& status) {
    if (first.ok() && !status.ok()) first = status;
  };
  auto& outcomes = outcomes_[job.id];
  outcomes.clear();
  for (const int number : decision.send) {
    const Launch* launch = FindLaunch(job, number);
    if (launch == nullptr) continue;
    const auto provider = providers_(launch->provider);
    const Status sent =
        provider.ok() ? (*provider)
                            ->Launch(RequestFor(ledger_, ledger_.store().url(), job, spec, *launch))
                            .status()
                      : provider.status();
    if (!sent.ok()) outcomes.push_back({number, sent});
    keep(sent.WithContext("launch " + std::to_string(number)));
  }
  for (const std::string& instance : decision.terminate) {
    for (const Launch& launch : job.launches) {
      const auto provider = providers_(launch.provider);
      if (!provider.ok()) continue;
      keep((*provider)->Terminate(instance).WithContext("ending " + instance));
      break;
    }
  }
  if (decision.retire) {
    const Status indexed = AppendSummary(ledger_, job);
    keep(indexed);
    if (indexed.ok() || BugIsOn("retires-unindexed")) keep(RemoveActive(ledger_, job.id));
  }
  return first;
}

Observed Controller::Observe(const JobRead& read, const std::vector<ReportRead>& reports,
                             MonoTime listened, const Describe& describe, PassResult* result) {
  Observed seen;
  seen.now = BugIsOn("own-clock") ? clock_.Wall() : read.store_now;
  seen.ledger_id = ledger_.id();
  seen.outcomes = outcomes_[read.job.id];
  ObserveReports(read.job, reports, listened, &seen);
  const Status machines = ObserveMachines(read.job, describe, &seen);
  if (!machines.ok()) result->trouble = machines;
  result->store_now = read.store_now;
  result->reports = seen.reports;
  result->machines = seen.machines;
  result->job = read.job;
  return seen;
}

bool Controller::IsHere(const Job& job) const {
  return job.host.empty() || (host_ && host_() == job.host);
}

Result<PassResult> Controller::Pass(const std::string& job_id, bool act) {
  auto found = ReadJob(ledger_, job_id, records_[job_id]);
  if (BugIsOn("ends-on-failed-read") && !found.ok()) {  // "no record: its machines are strays"
    for (const Launch& launch : records_[job_id].job.launches) {
      (void)(*providers_(launch.provider))->Terminate(launch.instance_id);
    }
  }
  STOKER_ASSIGN(JobRead read, std::move(found));
  records_[job_id] = read;
  PassResult result;
  STOKER_ASSIGN(const JobSpec* spec, SpecToGoBy(SpecOf(read.job), read.job, &result));
  // In this order: a machine that comes between the two looks must not seem absent although its
  // node has reported.
  STOKER_ASSIGN(const std::vector<ReportRead> reports, reports_.Read(job_id));
  const auto describe = [&](const std::string&, Provider& provider) {
    return provider.Describe(ledger_.id(), job_id);
  };
  Observed seen = Observe(read, reports, clock_.Mono(), describe, &result);
  if (!act || !IsHere(read.job)) return result;
  Decision decision = Reconcile(read.job, *spec, seen);
  if (decision.want_checkpoints) {
    STOKER_TRY(ObserveCheckpoints(read.job, &seen, &result));
    decision = Reconcile(read.job, *spec, seen);
  }
  result.notes = decision.notes;
  if (BugIsOn("request-before-record")) (void)Act(decision.job, *spec, decision);
  if (decision.changed) {
    auto written = UpdateJob(ledger_, read, decision.job);
    if (BugIsOn("acts-after-lost-race") && !written.ok()) written = JobRead{decision.job, {}, {}};
    if (written.status().Is(Code::kConflict)) return Pass(job_id, false);
    if (!written.ok()) {
      // What was read still counts: a node must see a cancel also while nothing can be written.
      result.trouble = written.status();
      return result;
    }
    result.job = written->job;
    result.changed = true;
  }
  const Status acted = Act(result.job, *spec, decision);
  if (!acted.ok()) result.trouble = acted;
  return result;
}

Result<std::optional<Job>> Controller::Glance(const std::string& job_id) {
  const JobRead& known = records_[job_id];
  STOKER_ASSIGN(JobRead read, ReadJob(ledger_, job_id, known));
  if (known.job.id != job_id || known.version != read.version) return std::optional<Job>();
  return std::optional<Job>(std::move(read.job));
}

Result<PassResult> Controller::Pass(const std::string& job_id, LedgerLook& look) {
  JobRead& known = records_[job_id];
  const Listed* listed = look.RecordOf(job_id);
  if (listed != nullptr && known.job.id == job_id && known.version == listed->object.version) {
    known.store_now = listed->now;
  } else {
    STOKER_ASSIGN(known, ReadJob(ledger_, job_id, known));
  }
  PassResult result;
  STOKER_ASSIGN(const JobSpec* spec, SpecToGoBy(SpecOf(known.job), known.job, &result));
  STOKER_ASSIGN(const std::vector<ReportRead> reports,
                reports_.Read(job_id, look.ReportsOf(job_id)));
  const auto describe = [&](const std::string& name, Provider& provider) {
    return look.MachinesOf(name, provider, job_id);
  };
  const Observed seen = Observe(known, reports, look.taken(), describe, &result);
  const Decision decision = Reconcile(known.job, *spec, seen);
  const bool idle = !decision.changed && decision.send.empty() && decision.terminate.empty() &&
                    !decision.retire && !decision.want_checkpoints;
  if (!idle) return Pass(job_id);
  outcomes_.erase(job_id);
  result.notes = decision.notes;
  return result;
}

void Controller::KeepOnly(const std::set<std::string>& jobs) {
  const auto ended = [&](const auto& entry) { return !jobs.contains(entry.first); };
  std::erase_if(records_, ended);
  std::erase_if(looked_, ended);
  std::erase_if(refusals_, ended);
  std::erase_if(sequences_, ended);
  std::erase_if(outcomes_, ended);
  reports_.KeepOnly(jobs);
  std::set<std::string> specs;
  for (const auto& [id, read] : records_) specs.insert(read.job.spec_digest);
  std::erase_if(specs_, [&](const auto& entry) { return !specs.contains(entry.first); });
}

}  // namespace stoker
