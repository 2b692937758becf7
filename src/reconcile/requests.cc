// SPDX-License-Identifier: Apache-2.0
// Requests: what is asked for at once, who asks when, and what a gang needs to stay one.
#include <algorithm>
#include <iterator>
#include <map>

#include "base/deliberate_bug.h"
#include "base/text.h"
#include "policy/placement.h"
#include "policy/retry.h"
#include "reconcile/outcomes.h"
#include "reconcile/pass.h"
#include "spec/text/infra.h"

namespace stoker::reconcile_internal {
namespace {

// The place ends all machines of a request or none.
bool EndedWhole(const Pass& pass, const Launch& launch) {
  return !pass.Place(launch).ends_one_alone;
}

std::string RequestText(const Pass& pass, const Request& request) {
  std::vector<std::string> launches;
  for (const Launch& launch : pass.out.job.launches) {
    if (launch.request == request.number) launches.push_back(LaunchText(launch));
  }
  return Join(launches, ", ");
}

Duration PauseOf(const Request& request) {
  const bool settles = request.refusal && request.refusal->what == RefusalClass::kNotYetConsistent;
  return settles ? kConsistencyPause : SendPause(request.tries);
}

// It was sent once more after the refusal was heard, and what came of that is not: a machine may
// have, which no list shows yet. Whoever sends it next is told.
bool IsAskedSince(const Request& request) {
  return request.refusal && request.next_try && request.tries > 0 &&
         *request.next_try - PauseOf(request) > request.refusal->at;
}

// A provider that says how long to wait is believed.
bool IsDue(const Request& request, WallTime now) {
  if (request.next_try && now < *request.next_try) return false;
  return !request.refusal || now >= request.refusal->at + request.refusal->wait;
}

// Its provider has none, or what was asked for before it was refused so that it is held back.
bool LacksRoom(const Request& request, WallTime now) {
  if (request.tries == 0 && request.next_try && now < *request.next_try) return true;
  return request.refusal && (request.refusal->what == RefusalClass::kCapacity ||
                             request.refusal->what == RefusalClass::kQuota);
}

void OpenRequest(Pass& pass, const Placement& where, const std::vector<int>& slots,
                 std::vector<int>* launches) {
  Job& job = pass.job();
  Request& request = AppendRequest(job, slots);
  request.ask = where.ask;
  if (BugIsOn("ceiling-forgotten")) request.ask.ceiling.reset();
  request.reason = where.reason;
  request.next_try = where.not_before;
  if (job.retry_after && WaitsOutOutage(job)) {
    request.next_try = std::max(request.next_try.value_or(*job.retry_after), *job.retry_after);
  }
  request.store_url = pass.seen.store_url;
  request.opened = pass.seen.now;
  request.not_after = request.next_try.value_or(pass.seen.now) + kSendWithin;
  request.limit = BugIsOn("time-limit-in-wrong-unit") ? kDefaultLease * 1000 : kDefaultLease;
  if (BugIsOn("limits-add-up")) request.limit = kDefaultLease * request.number;
  request.token = RequestToken(pass.seen.ledger_id, job, request);
  pass.Changed(RequestText(pass, request) + " opened" +
               (where.reason.empty() ? "" : " at " + PlaceText(where.ask) + ": " + where.reason));
  const auto first = job.launches.end() - static_cast<ptrdiff_t>(slots.size());
  for (auto launch = first; launch != job.launches.end(); ++launch) {
    (*launches)[static_cast<size_t>(launch->slot)] = launch->number;
  }
}

constexpr const char* kHeld =
    " is not asked for before it is known who ends the machine whose place it takes";

// Whoever reads the record sees what a request was sent without.
void SayWhyNow(Pass& pass, Request& request) {
  const auto machine = NotToldInTime(pass, request);
  if (!machine) return;
  const std::string why =
      "nothing said within " + HumanDuration(kEnderWithin) + " who ended " + *machine;
  request.reason += (request.reason.empty() ? "" : "; ") + why;
  pass.Changed(RequestText(pass, request) + ": " + why);
}

// Said of a choice out of fewer than there are.
constexpr const char* kOfThose = "the first of those that can be asked for from here";

// Where the machines of a job that trains on several of them are to be had. Those of one attempt
// are in one place: what replaces one is asked for where the others are, and where that place
// refuses while another is free, all of them move.
Placement PlaceFor(const Pass& pass, std::vector<int>* launches) {
  const Job& job = pass.out.job;
  const std::vector<Offer> all = OffersOf(pass);
  const std::vector<Offer> here_only = OffersHere(pass);
  Placement anywhere = ChoosePlace(here_only, job.requests, pass.seen.now);
  if (here_only.size() < all.size() && anywhere.first) anywhere.reason = kOfThose;
  const auto kept = std::find_if(launches->begin(), launches->end(), [](int n) { return n != 0; });
  if (kept == launches->end() || BugIsOn("gang-scattered")) return anywhere;
  const Place& here = stoker::RequestOf(job, *FindLaunch(job, *kept)).ask.place;
  std::vector<Offer> near;
  std::copy_if(all.begin(), all.end(), std::back_inserter(near),
               [&](const Offer& offer) { return offer.ask.place == here; });
  if (near.empty()) {
    // Of a move that was given up: nothing more is to be had there (seed 400016404).
    if (job.move) std::fill(launches->begin(), launches->end(), 0);
    return anywhere;
  }
  const Placement beside = ChoosePlace(near, job.requests, pass.seen.now);
  if (!beside.barred || anywhere.barred) return beside;
  std::fill(launches->begin(), launches->end(), 0);
  return anywhere;
}

// Where it ends whole, a request of which one machine is not kept is not kept at all.
void LetGoOfParts(const Pass& pass, std::vector<int>* launches) {
  if (BugIsOn("gang-kept-in-part")) return;
  std::map<int, size_t> kept;  // by request
  for (const int number : *launches) {
    if (const Launch* launch = FindLaunch(pass.out.job, number)) ++kept[launch->request];
  }
  for (int& number : *launches) {
    const Launch* launch = FindLaunch(pass.out.job, number);
    if (launch == nullptr || !EndedWhole(pass, *launch)) continue;
    if (kept[launch->request] < pass.RequestOf(*launch).slots.size()) number = 0;
  }
}

// Its node has told its end in the attempt that has it, or has never said anything.
bool HasNothingToSay(const Pass& pass, const Launch& launch) {
  if (pass.NewestReport(launch.number) == nullptr) return true;
  const Attempt* attempt = CurrentAttempt(pass.out.job, launch.number);
  if (attempt == nullptr) return false;
  const auto& mine = attempt->launches;
  const auto rank = std::find(mine.begin(), mine.end(), launch.number) - mine.begin();
  return pass.EndOf(*attempt, static_cast<int>(rank)) != nullptr;
}

}  // namespace

std::vector<Offer> OffersOf(const Pass& pass) {
  const Job& job = pass.out.job;
  const std::vector<Offer>& now = BugIsOn("move-forgets-offers") ? job.offers : OffersNow(job);
  if (!now.empty()) return now;
  Offer only;
  only.ask.place.provider = ParseInfra(pass.spec.resources.infra).provider;
  return {only};
}

// Where this observer may ask for nothing, or is refused all of it for good, it is for somebody
// else to ask: then all of them. So it is of a job that has not begun: its submitter is there.
std::vector<Offer> OffersHere(const Pass& pass) {
  const std::vector<Offer> all = OffersOf(pass);
  if (pass.before.requests.empty()) return all;
  std::vector<Offer> here;
  std::copy_if(all.begin(), all.end(), std::back_inserter(here),
               [&](const Offer& offer) { return pass.PlaceOf(offer.ask.place).may_ask; });
  const bool any = std::any_of(here.begin(), here.end(), [&](const Offer& offer) {
    return !IsRefusedForGood(offer, pass.out.job.requests);
  });
  return any && !BugIsOn("asks-where-it-may-not") ? here : all;
}

bool GoesElsewhere(Pass& pass, const Launch& launch) {
  Request* request = FindRequest(pass.job(), launch.request);
  if (request == nullptr || OffersOf(pass).size() < 2) return false;
  const Attempt* attempt = CurrentAttempt(pass.out.job, launch.number);
  // Nothing was claimed for it yet: a machine that turns up all the same finds its launch closed.
  if (attempt != nullptr && attempt->state != AttemptState::kProvisioning) return false;
  Request judged = *request;
  if (pass.seen.now > request->not_after && !pass.Place(launch).known) {
    judged.refusal = {RefusalClass::kUnanswered, RefusalScope::kAccount, {}, pass.seen.now, false,
                      "it does not answer"};
  } else if (IsAskedSince(*request) && !BugIsOn("answer-is-old")) {
    return false;
  }
  // By what is judged now, that very place is none that is free.
  std::vector<Request> past = pass.job().requests;
  const auto same = [&](const Request& one) { return one.number == judged.number; };
  std::replace_if(past.begin(), past.end(), same, judged);
  if (!IsBetterElsewhere(judged, OffersHere(pass), past, pass.seen.now)) return false;
  request->refusal = judged.refusal;
  return true;
}

void FillSlots(Pass& pass, std::vector<int>* launches) {
  LetGoOfParts(pass, launches);
  if (std::find(launches->begin(), launches->end(), 0) == launches->end()) return;
  const Placement where = PlaceFor(pass, launches);
  std::vector<int> slots;
  for (size_t slot = 0; slot < launches->size(); ++slot) {
    if ((*launches)[slot] == 0) slots.push_back(static_cast<int>(slot));
  }
  // A record that makes no sense may have more of them than any job.
  const bool at_once = slots.size() <= static_cast<size_t>(pass.job().num_nodes) &&
                       pass.PlaceOf(where.ask.place).takes_gangs && !BugIsOn("gang-one-by-one");
  if (at_once) return OpenRequest(pass, where, slots, launches);
  for (const int slot : slots) OpenRequest(pass, where, {slot}, launches);
}

std::set<int> RequestsSeen(const Pass& pass) {
  std::set<int> seen;
  const auto note = [&](int number) {
    if (const Launch* launch = FindLaunch(pass.out.job, number)) seen.insert(launch->request);
  };
  for (const MachineSeen& machine : pass.seen.machines) note(machine.launch);
  for (const ReportSeen& report : pass.seen.reports) note(report.report.launch);
  return seen;
}

void CloseRemainders(Pass& pass) {
  std::set<int> broken;
  for (const Launch& launch : pass.job().launches) {
    if (launch.closed && EndedWhole(pass, launch)) broken.insert(launch.request);
  }
  for (Launch& launch : pass.job().launches) {
    if (launch.closed || !broken.contains(launch.request)) continue;
    if (!HasNothingToSay(pass, launch)) continue;
    CloseLaunch(
        pass, launch, CloseReason::kSuperseded,
        "another machine of its request is given up, and they can only be replaced together");
  }
}

bool EndsNoOther(const Pass& pass, const Launch& launch) {
  if (!EndedWhole(pass, launch) || BugIsOn("gang-ended-early")) return true;
  const auto& launches = pass.before.launches;
  return std::all_of(launches.begin(), launches.end(), [&](const Launch& other) {
    return other.request != launch.request ||
           MayBeEnded(pass, other,
                      pass.Machine(other.number) == nullptr || pass.MachineGone(other.number));
  });
}

void ChooseSends(Pass& pass) {
  Job& job = pass.job();
  if (IsFinal(job.state) || job.cancel) return;
  const std::set<int> seen = RequestsSeen(pass);
  std::set<int> open;
  for (const Launch& launch : job.launches) {
    if (!launch.closed) open.insert(launch.request);
  }
  bool waiting = false;
  for (const int number : open) {
    Request* const request = FindRequest(job, number);
    if (request == nullptr || pass.seen.now > request->not_after) continue;
    if (BugIsOn("launch-rewritten") && request->refusal) {
      request->not_after = pass.seen.now + kSendWithin;
    }
    if (seen.contains(number)) continue;
    waiting |= LacksRoom(*request, pass.seen.now);
    // Who opens a request sends it; others after a while, and one of them: whose write moves the
    // next try.
    const bool is_new = FindRequest(pass.before, number) == nullptr;
    const PlaceSeen& place = pass.PlaceOf(request->ask.place);
    // What was never sent has come to nothing yet, whatever its place would say.
    const bool held_before = !is_new && request->tries == 0 && place.may_ask;
    if (!is_new && !held_before && !place.known) continue;
    if (!IsDue(*request, pass.seen.now)) continue;
    if (IsHeld(pass, *request)) {
      if (is_new) pass.out.notes.push_back(RequestText(pass, *request) + kHeld);
      continue;
    }
    if (held_before) SayWhyNow(pass, *request);
    ++request->tries;
    request->next_try = pass.seen.now + PauseOf(*request);
    if (!is_new) {
      const bool several = request->slots.size() > 1;
      pass.Changed(RequestText(pass, *request) + (several ? " are" : " is") + " asked for" +
                   (request->tries > 1 ? " again" : ""));
    }
    pass.out.send.push_back(number);
  }
  for (const Launch& launch : job.launches) {
    const MachineSeen* machine = launch.closed ? nullptr : pass.Machine(launch.number);
    waiting |= machine != nullptr && machine->state == MachineState::kQueued;
  }
  const bool runs = std::any_of(job.attempts.begin(), job.attempts.end(), [](const Attempt& a) {
    return a.state == AttemptState::kRunning || a.state == AttemptState::kDraining;
  });
  if (waiting && !runs && (job.state == JobState::kPending || job.state == JobState::kRunning)) {
    job.state = JobState::kWaiting;
    pass.Changed("waiting for capacity");
  }
}

}  // namespace stoker::reconcile_internal
