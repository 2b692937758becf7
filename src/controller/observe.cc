// SPDX-License-Identifier: Apache-2.0
// What a pass sees of a job: its machines, what is known of their places, its nodes' reports, its
// checkpoints.
#include <algorithm>

#include "base/deliberate_bug.h"
#include "base/utf8.h"
#include "checkpoint/checkpoint_store.h"
#include "controller/controller.h"
#include "controller/listening.h"
#include "controller/restorable.h"
#include "ledger/paths.h"

namespace stoker {
namespace {

MachineState StateOf(InstanceState state) {
  switch (state) {
    case InstanceState::kQueued:
      return MachineState::kQueued;
    case InstanceState::kRequested:
    case InstanceState::kBooting:
      return MachineState::kStarting;
    case InstanceState::kRunning:
    case InstanceState::kStopping:
      return MachineState::kRunning;
    case InstanceState::kStopped:
      return MachineState::kStopped;
    case InstanceState::kGone:
      return MachineState::kGone;
  }
  return MachineState::kGone;
}

// So long one observer is refused what may be a mistake of a moment (403 while a policy changes).
constexpr Duration kRefusedForGood = Duration::Minutes(10);
// Between two looks of one observer; longer ones, and it has not been watching.
constexpr Duration kLongestGap = Duration::Seconds(45);
// Of a shorter gap, so much was listened to: a store that is away twice, for half a minute each, is
// no silence of a node that could not reach it either (seed 200056369).
constexpr Duration kHeardOfGap = Duration::Seconds(20);

// Launches of `job` by the token and the index that their machines carry, of one provider.
std::map<std::pair<std::string, int>, int> LaunchesOf(const Job& job, const std::string& provider) {
  std::map<std::pair<std::string, int>, int> launches;
  for (const Launch& launch : job.launches) {
    const Request& request = RequestOf(job, launch);
    if (request.ask.place.provider != provider) continue;
    launches[{request.token, BugIsOn("index-ignored") ? 0 : launch.index}] = launch.number;
  }
  return launches;
}

// Machines of its open launches, of one provider.
std::vector<InstanceMet> MetAt(const Job& job, const std::string& ledger,
                               const std::string& provider) {
  std::vector<InstanceMet> met;
  for (const Launch& launch : job.launches) {
    const Request& request = RequestOf(job, launch);
    if (launch.closed || launch.instance_id.empty()) continue;
    if (request.ask.place.provider != provider) continue;
    InstanceMet& one = met.emplace_back();
    one.place = request.ask.place;
    one.seen.id = launch.instance_id;
    one.seen.token = request.token;
    one.seen.ledger_id = ledger;
    one.seen.job = job.id;
    one.seen.launch = launch.number;
    one.seen.index = launch.index;
  }
  return met;
}

bool IsForgotten(const InstanceSeen& instance) {
  return BugIsOn("gone-is-freed") && instance.state == InstanceState::kGone;
}

}  // namespace

Status Controller::ObserveMachines(const Job& job, const Describe& describe, Observed* seen) {
  Status first;
  for (const Request& request : job.requests) {
    const std::string& name = request.ask.place.provider;
    const auto asked = [&](const PlaceSeen& place) { return place.provider == name; };
    if (std::any_of(seen->places.begin(), seen->places.end(), asked)) continue;
    const auto provider = ProviderOf(job, name);
    if (provider.ok()) (*provider)->Expect(MetAt(job, ledger_.id(), name));
    const auto instances =
        provider.ok() ? describe(name, **provider) : Result<InstancesSeen>(provider.status());
    PlaceSeen& place = seen->places.emplace_back(PlaceFor(job, name));
    if (!instances.ok()) {
      // Not knowing is no reason to fail the pass: what needs no machine of it still goes on.
      place.known = BugIsOn("failed-describe-is-empty");
      place.absent_means_gone = true;
      if (first.ok() && !IsOnAnotherComputer(job, name) && !IsNotAskedHere(name)) {
        first = instances.status().WithContext("asking " + Spelled(name) + " for its machines");
      }
      continue;
    }
    place.known = true;
    const Status unheard = ObserveUnheard(job, name, *instances, seen);
    if (first.ok()) first = unheard;
    const auto launches = LaunchesOf(job, name);
    for (const InstanceSeen& instance : *instances) {
      const int index = BugIsOn("index-ignored") ? 0 : instance.index;
      const auto found = launches.find({instance.token, index});
      if (found == launches.end() && BugIsOn("stray-is-ended") && instance.job == job.id) {
        (void)(*provider)->Terminate(instance.id);
      }
      const bool tagged = BugIsOn("tags-are-enough") && FindLaunch(job, instance.launch) != nullptr;
      if (found == launches.end() && !tagged) continue;
      const int launch = found == launches.end() ? instance.launch : found->second;
      if (instance.state == InstanceState::kStopped && BugIsOn("stopped-is-gone")) continue;
      seen->machines.push_back({instance.id, launch, StateOf(instance.state), instance.why,
                                instance.freed || IsForgotten(instance), instance.up_for,
                                instance.refusal, instance.ended_by, std::nullopt,
                                instance.own_id});
    }
  }
  return first;
}

// Of what is left out there nothing is known. What the job has no request for does not matter.
Status Controller::ObserveUnheard(const Job& job, const std::string& name,
                                  const InstancesSeen& instances, Observed* seen) {
  Status first;
  if (BugIsOn("unheard-is-empty")) return first;
  const PlaceSeen whole = seen->places.back();
  for (const Unheard& unheard : instances.unheard) {
    PlaceSeen part = whole;
    part.known = false;
    part.account = unheard.place.account;
    part.region = unheard.place.region;
    part.zone = unheard.place.zone;
    const auto concerns = [&](const Request& request) { return MayBeIn(request.ask.place, part); };
    if (std::none_of(job.requests.begin(), job.requests.end(), concerns)) continue;
    seen->places.push_back(part);
    if (first.ok())
      first = unheard.why.WithContext("asking " + Spelled(name) + " for its machines");
  }
  return first;
}

// What a place is like is known without asking it.
PlaceSeen Controller::PlaceFor(const Job& job, const std::string& name) {
  PlaceSeen place;
  place.provider = name;
  place.may_ask = ProviderOf(job, name).ok();
  place.elsewhere = IsOnAnotherComputer(job, name);
  if (place.elsewhere) return place;
  const auto provider = providers_(name);
  if (!provider.ok() || *provider == nullptr) return place;
  const ProviderTraits& traits = (*provider)->traits();
  place.absent_means_gone = traits.describe_is_immediate;
  place.appear_within = traits.appear_within;
  place.takes_gangs = traits.takes_gangs;
  place.ends_one_alone = traits.ends_one_alone;
  place.may_stop = traits.may_stop;
  place.can_start = traits.can_start;
  place.tells_ender = traits.tells_ender;
  return place;
}

void Controller::ObserveReports(const Job& job, const std::vector<ReportRead>& reports,
                                MonoTime listened, Observed* seen) {
  // Silence counts only while it was listened to: after an hour without the store, every node must
  // first get the time to say something.
  const auto looked = looked_.find(job.id);
  const bool away = looked == looked_.end() || listened - looked->second > kLongestGap;
  const Duration gap = away ? Duration{} : listened - looked->second;
  const Duration unheard = std::max(Duration{}, gap - kHeardOfGap);
  looked_[job.id] = listened;
  auto& sequences = sequences_[job.id];
  for (const ReportRead& read : reports) {
    const NodeReport& report = read.report;
    Sequence& sequence = sequences[paths::Report(report.job, report.attempt, report.rank)];
    if (away || sequence.seq != report.seq || sequence.incarnation != report.incarnation) {
      sequence = {report.seq, report.incarnation, listened};
    } else if (!BugIsOn("gaps-are-listened")) {
      sequence.since = std::min(listened, sequence.since + unheard);
    }
    // When the record was read: what has come since then, by a list that was slow, is of now.
    const Duration age = std::max(Duration{}, seen->now - read.written);
    seen->reports.push_back({report, age, listened - sequence.since});
  }
}

// An observer that goes on looking knows better from its second look on.
bool Controller::MindsQuietNodes(const Job& job, const Observed& seen) const {
  return keep_quiet_nodes_ && !heeded_.contains(job.id) && AnyQuiet(job, seen.reports);
}

Result<QuietNodes> Controller::HeedQuietNodes(const Job& job, Observed* seen) {
  STOKER_ASSIGN(const QuietNodes before, ReadQuietNodes(ledger_, job.id));
  heeded_.insert(job.id);
  QuietNodes looks = NextQuietNodes(before, job, seen->reports, seen->now);
  CountQuietNodes(looks, &seen->reports);
  return looks;
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

}  // namespace stoker
