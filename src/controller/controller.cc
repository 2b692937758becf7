// SPDX-License-Identifier: Apache-2.0
#include "controller/controller.h"

#include <algorithm>

#include "base/deliberate_bug.h"
#include "base/utf8.h"
#include "controller/listening.h"
#include "ledger/records.h"
#include "spec/parse.h"
#include "spec/text/infra.h"

namespace stoker {
namespace {

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

// All of the entry, also of slots whose launches are closed: the same token asks for the same.
LaunchRequest RequestFor(Ledger& ledger, const Job& job, const JobSpec& spec,
                         const Request& entry) {
  LaunchRequest request;
  request.token = BugIsOn("invented-token") ? ledger.Nonce() : entry.token;
  request.ledger_id = ledger.id();
  request.store_url = entry.store_url.empty() ? ledger.store().url() : entry.store_url;
  request.job = job.id;
  request.job_name = job.name;
  request.ask = entry.ask;
  request.slots = entry.slots;
  request.launches.resize(entry.slots.size());
  for (const Launch& launch : job.launches) {
    if (launch.request != entry.number) continue;
    request.launches[static_cast<size_t>(launch.index)] = launch.number;
  }
  request.binary_digest = job.binary_digest;
  if (!BugIsOn("time-limit-forgotten")) request.limit = entry.limit;
  if (!BugIsOn("request-never-expires")) request.not_after = entry.not_after;
  request.ending = spec.ending;
  return request;
}

// Who asks one provider alone may not know what the others are like, whether they take gangs, or
// whether a machine of theirs comes up again (seed 45000993939): where a job has a machine of such
// a one, or has not begun and may get one, it is for others.
bool OthersLookAfterIt(const Job& job, const JobSpec& spec, bool is_away,
                       const ProviderLookup& providers) {
  std::set<std::string> names;
  for (const Launch& launch : job.launches) {
    const Request* request = launch.closed ? nullptr : FindRequest(job, launch.request);
    if (request != nullptr) names.insert(request->ask.place.provider);
  }
  const auto unknown = [&](const std::string& name) {
    const auto provider = providers(name);
    return !provider.ok() || *provider == nullptr;
  };
  if (!job.requests.empty()) return is_away && std::any_of(names.begin(), names.end(), unknown);
  for (const Offer& offer : AllOffers(job)) names.insert(offer.ask.place.provider);
  if (names.empty()) names.insert(ParseInfra(spec.resources.infra).provider);
  return std::any_of(names.begin(), names.end(), unknown);
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

// A provider that this process has no way to is the trouble of this process.
Status Controller::Send(const Job& job, const JobSpec& spec, const Request& request,
                        Outcomes* outcomes) {
  STOKER_ASSIGN(Provider* const provider, ProviderOf(job, request.ask.place.provider));
  const LaunchAnswer sent = provider->Launch(RequestFor(ledger_, job, spec, request));
  outcomes->sends.push_back({request.number, sent.refusal()});
  return sent.status();
}

// The outward half: only what the record, as written, says. Every step may be repeated.
Status Controller::Act(const Job& job, const JobSpec& spec, const Decision& decision,
                       Outcomes* outcomes) {
  Status first;
  const auto keep = [&](const Status& status) {
    if (first.ok() && !status.ok()) first = status;
  };
  for (const int number : decision.send) {
    const Request* request = FindRequest(job, number);
    if (request == nullptr) continue;
    keep(Send(job, spec, *request, outcomes).WithContext("request " + std::to_string(number)));
  }
  for (const auto& [name, id] : decision.start) {
    const auto provider = ProviderOf(job, name);
    const StartAnswer answer =
        provider.ok() ? (*provider)->Start(id) : StartAnswer(provider.status());
    outcomes->starts.push_back({id, answer.refusal()});
    keep(answer.WithContext("starting " + id));
  }
  for (const auto& [name, id] : decision.terminate) {
    const auto provider = ProviderOf(job, name);
    const Status done = provider.ok() ? (*provider)->Terminate(id) : provider.status();
    keep(done.WithContext("ending " + id));
  }
  return first;
}

Teller::Told Controller::TellEvents(const JobSpec& spec, PassResult* result) {
  Teller::Told unknown;
  if (!teller_) {  // somebody else tells, who has so long for it
    const WallTime ended = result->job.ended.value_or(result->store_now);
    unknown.pending = !spec.notify.empty() && result->store_now - ended < kKeepTelling;
    return unknown;
  }
  const auto told = teller_->Tell(result->job, spec, result->store_now, result->reports);
  if (!told.ok()) {
    result->trouble = told.status();
    unknown.pending = true;
    return unknown;
  }
  for (const std::string& note : told->notes) result->notes.push_back(note);
  return *told;
}

// What a provider has refused is known to whoever looks next, were it in a week.
Status Controller::Note(const std::string& job, const Outcomes& outcomes, PassResult* result) {
  const auto refused = [](const auto& outcome) { return outcome.refusal.has_value(); };
  const bool any = std::any_of(outcomes.sends.begin(), outcomes.sends.end(), refused) ||
                   std::any_of(outcomes.starts.begin(), outcomes.starts.end(), refused);
  if (!any) return Status::Ok();
  const bool judge = submitted_.contains(job);
  const WallTime at = result->store_now;
  const auto noted = MutateJob(ledger_, job, [&](Job& now) -> Result<bool> {
    const bool starts = NoteStarts(now, outcomes.starts, at);
    return NoteOutcomes(now, outcomes.sends, at, judge) || starts;
  });
  STOKER_TRY(noted.status());
  records_[job] = *noted;
  result->job = noted->job;
  result->changed = true;
  return Status::Ok();
}

Observed Controller::Observe(const JobRead& read, const JobSpec& spec,
                             const std::vector<ReportRead>& reports, MonoTime listened,
                             const Describe& describe, PassResult* result) {
  Observed seen;
  seen.now = BugIsOn("own-clock") ? clock_.Wall() : read.store_now;
  seen.ledger_id = ledger_.id();
  seen.store_url = ledger_.store().url();
  ObserveReports(read.job, reports, listened, &seen);
  const Status machines = ObserveMachines(read.job, describe, &seen);
  if (!machines.ok()) result->trouble = machines;
  // Where the next machines are asked for, though there may be none yet.
  std::set<std::string> more = {ParseInfra(spec.resources.infra).provider};
  for (const Offer& offer : AllOffers(read.job)) more.insert(offer.ask.place.provider);
  for (const PlaceSeen& place : seen.places) more.erase(place.provider);
  for (const std::string& name : more) seen.places.push_back(PlaceFor(read.job, name));
  result->store_now = read.store_now;
  result->reports = seen.reports;
  result->machines = seen.machines;
  result->job = read.job;
  return seen;
}

bool Controller::IsOfThisComputer(const Job& job) const {
  return job.host.empty() || (host_ && host_() == job.host);
}

bool Controller::IsNotAskedHere(const std::string& provider) const {
  if (!MayAsk(provider)) return true;
  const auto found = providers_(provider);
  return found.ok() && *found == nullptr;
}

bool Controller::IsOnAnotherComputer(const Job& job, const std::string& provider) const {
  return provider == kLocalProvider && !IsOfThisComputer(job);
}

Result<Provider*> Controller::ProviderOf(const Job& job, const std::string& name) const {
  if (!IsOnAnotherComputer(job, name)) {
    STOKER_ASSIGN(Provider* const provider, providers_(name));
    if (provider != nullptr && MayAsk(name)) return provider;
    return Status(Code::kUnavailable,
                  Spelled(name) + " is not asked for machines from here: another computer does it");
  }
  return Status(Code::kInvalid, "the local machines of job " + job.id + " are another computer's");
}

// Of a node that was given up in this very pass, nothing more need be known.
Status Controller::KeepQuietNodesOf(const Result<QuietNodes>& looks, const PassResult& result) {
  STOKER_TRY(looks.status());
  if (!AnyQuiet(result.job, result.reports) || BugIsOn("looks-forgotten")) return Status::Ok();
  return WriteQuietNodes(ledger_, result.job.id, *looks);
}

// Of a job that goes on, machines come first. Of one that has ended, a node may be telling it: that
// machine is not ended yet.
Status Controller::CarryOut(const JobSpec& spec, Decision decision, Outcomes* outcomes,
                            PassResult* result) {
  const bool over = IsFinal(result->job.state);
  Teller::Told told;
  if (over) told = TellEvents(spec, result);
  if (told.busy) decision.terminate.clear();
  Status first = Act(result->job, spec, decision, outcomes);
  const auto keep = [&](const Status& status) {
    if (first.ok()) first = status;
  };
  keep(Note(result->job.id, *outcomes, result));
  if (!over) (void)TellEvents(spec, result);
  if (told.pending || !over) return first;
  const Result<bool> forgot = ForgetSecrets(result->job, spec, result->store_now);
  keep(forgot.status());
  // Nobody looks after the job later.
  if (decision.retire && forgot.value_or(false)) keep(Retire(result->job));
  return first;
}

Result<PassResult> Controller::Pass(const std::string& job_id, bool act) {
  auto found = ReadJob(ledger_, job_id, records_[job_id]);
  if (BugIsOn("ends-on-failed-read") && !found.ok()) {  // "no record: its machines are strays"
    for (const Launch& launch : records_[job_id].job.launches) {
      const Request& request = RequestOf(records_[job_id].job, launch);
      (void)(*providers_(request.ask.place.provider))->Terminate(launch.instance_id);
    }
  }
  STOKER_ASSIGN(JobRead read, std::move(found));
  records_[job_id] = read;
  PassResult result;
  STOKER_ASSIGN(const JobSpec* spec, SpecToGoBy(SpecOf(read.job), read.job, &result));
  // In this order: a machine that comes between the two looks must not seem absent although its
  // node has reported.
  STOKER_ASSIGN(const std::vector<ReportRead> reports, reports_.Read(job_id));
  const bool others =
      !IsOfThisComputer(read.job) &&
      LocalityOf(read.job, ParseInfra(spec->resources.infra).provider) == Locality::kAll;
  // Its end can be written by whoever sees that it was cancelled: there, nobody may be looking.
  const bool theirs =
      others || (!asks_only_.empty() && OthersLookAfterIt(read.job, *spec, is_away_, providers_));
  act = act && (!theirs || read.job.cancel);
  if (act && !others && HasNewNotice(read.job, reports)) {
    const auto hurried = Hurry(read, *spec, reports, &result);
    // All is read anew: what it has closed is judged by reports of after that.
    if (hurried.ok() && *hurried) return AfterHurry(job_id, std::move(result));
  }
  const auto describe = [&](const std::string&, Provider& provider) {
    return provider.Describe(ledger_.id(), job_id);
  };
  Observed seen = Observe(read, *spec, reports, clock_.Mono(), describe, &result);
  if (!act) return result;
  ObserveBoots(read.job, &seen);
  std::optional<Result<QuietNodes>> looks;
  if (MindsQuietNodes(read.job, seen)) looks = HeedQuietNodes(read.job, &seen);
  Decision decision = Reconcile(read.job, *spec, seen);
  if (decision.want_checkpoints) {
    STOKER_TRY(ObserveCheckpoints(read.job, &seen, &result));
    decision = Reconcile(read.job, *spec, seen);
  }
  result.notes = decision.notes;
  Outcomes outcomes;
  if (BugIsOn("request-before-record")) (void)Act(decision.job, *spec, decision, &outcomes);
  if (decision.changed) {
    auto written = UpdateJob(ledger_, read, decision.job);
    if (BugIsOn("acts-after-lost-race") && !written.ok()) written = JobRead{decision.job, {}, {}};
    if (written.status().Is(Code::kConflict)) return Pass(job_id, false);
    if (!written.ok()) {
      // What was read still counts: a node must see a cancel also while nothing can be written.
      result.trouble = written.status();
      // Where this observer finds no room its nodes find none: silence counts from when they can
      // speak again, or the end that a node has waited to tell would come too late.
      if (written.status().Is(Code::kNoSpace)) looked_.erase(job_id);
      return result;
    }
    result.job = written->job;
    result.changed = true;
  }
  const Status kept = looks ? KeepQuietNodesOf(*looks, result) : Status::Ok();
  Status acted = CarryOut(*spec, std::move(decision), &outcomes, &result);
  if (acted.ok()) acted = kept;
  if (!acted.ok()) result.trouble = acted;
  return result;
}

Result<std::optional<Job>> Controller::Glance(const std::string& job_id) {
  const JobRead& known = records_[job_id];
  STOKER_ASSIGN(JobRead read, ReadJob(ledger_, job_id, known));
  if (known.job.id != job_id || known.version != read.version) return std::optional<Job>();
  return std::optional<Job>(std::move(read.job));
}

Result<PassResult> Controller::Pass(const std::string& job_id, LedgerSnapshot& look) {
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
  const Observed seen = Observe(known, *spec, reports, look.taken(), describe, &result);
  const Decision decision = Reconcile(known.job, *spec, seen);
  const bool secrets = IsFinal(known.job.state) && forget_ && !known.job.secrets_in.empty();
  // What a vault did not let go of a moment ago is no reason for more than this look.
  const auto asked = forgotten_.find(job_id);
  const bool held = secrets && asked != forgotten_.end() && !asked->second.last.value_or(false) &&
                    clock_.Mono() - asked->second.at < kForgetAgain;
  if (held && !asked->second.last.ok()) result.trouble = asked->second.last.status();
  const bool idle = (!secrets || held) && !decision.changed && decision.send.empty() &&
                    decision.terminate.empty() && (!decision.retire || held) &&
                    !decision.want_checkpoints && !MindsQuietNodes(known.job, seen) &&
                    !(teller_ && teller_->Pending(known.job, *spec, seen.now));
  if (!idle) return Pass(job_id);
  result.notes = decision.notes;
  return result;
}

void Controller::KeepOnly(const std::set<std::string>& jobs) {
  const auto ended = [&](const auto& entry) { return !jobs.contains(entry.first); };
  std::erase_if(records_, ended);
  std::erase_if(looked_, ended);
  std::erase_if(refusals_, ended);
  std::erase_if(sequences_, ended);
  std::erase_if(forgotten_, ended);
  for (auto* some : {&submitted_, &heeded_}) {
    std::erase_if(*some, [&](const std::string& job) { return !jobs.contains(job); });
  }
  reports_.KeepOnly(jobs);
  if (teller_) teller_->KeepOnly(jobs);
  std::set<std::string> specs;
  for (const auto& [id, read] : records_) specs.insert(read.job.spec_digest);
  std::erase_if(specs_, [&](const auto& entry) { return !specs.contains(entry.first); });
}

}  // namespace stoker
