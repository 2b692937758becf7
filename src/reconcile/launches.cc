// SPDX-License-Identifier: Apache-2.0
// Launches: which machines to give up, which to end.
#include <algorithm>

#include "base/deliberate_bug.h"
#include "policy/boots.h"
#include "reconcile/outcomes.h"
#include "reconcile/pass.h"

namespace stoker::reconcile_internal {
namespace {

bool Silent(const ReportSeen& report) {
  return report.age >= kSilentAfter && report.unchanged >= kSilentAfter;
}

// A machine that is gone was interrupted if its node had been told so, or its platform says so;
// else it is lost.
void CloseGone(Pass& pass, Launch& launch, const std::string& why) {
  const MachineSeen* machine = pass.Machine(launch.number);
  const bool taken = machine != nullptr && machine->ended_by == EndedBy::kPlatform;
  const bool noticed = pass.Noticed(launch.number) || taken;
  CloseLaunch(pass, launch, noticed ? CloseReason::kInterrupted : CloseReason::kLost, why);
}

void CloseSilent(Pass& pass, Launch& launch, const ReportSeen& report) {
  CloseLaunch(pass, launch, CloseReason::kLost,
              "silent: its report is " + HumanDuration(report.age) + " old and report " +
                  std::to_string(report.report.seq) + " was the newest for " +
                  HumanDuration(report.unchanged));
}

void CheckStopped(Pass& pass, Launch& launch, const MachineSeen& machine) {
  if (Restarts(pass, launch)) {
    if (IsOff(pass, launch)) (void)KeepStopped(pass, launch, machine);
    return;
  }
  if (MayBeStarted(pass, launch) || !IsOff(pass, launch)) return;
  CloseGone(pass, launch,
            "the provider says it is stopped" + (machine.why.empty() ? "" : ": " + machine.why));
}

// For so long it could have reported: from when it was asked for at the latest, since it may have
// been as late as not_after where capacity was short; and from when it was given power, if it had
// to wait for that.
Duration CouldReport(const Pass& pass, const Launch& launch, const MachineSeen& machine) {
  const Duration asked = pass.seen.now - pass.RequestOf(launch).not_after;
  return machine.up_for && !BugIsOn("queued-is-late") ? std::min(asked, *machine.up_for) : asked;
}

// Whoever meets it first writes its id down with what else is to be written; of one that queues
// at once, since for hours nothing else may be, and a later look may miss it.
void NoteMet(Pass& pass, Launch* launch, const MachineSeen& machine) {
  if (launch->own_id.empty()) launch->own_id = machine.own_id;
  if (!launch->instance_id.empty()) return;
  launch->instance_id = machine.instance_id;
  if (machine.state != MachineState::kQueued) return;
  pass.Changed(machine.instance_id + " waits in its provider's queue");
}

// What can be known of the twin is what its node says: its list is behind.
void CheckTwin(Pass& pass, Launch& launch) {
  const ReportSeen& report = *pass.NewestReport(launch.number);
  if (Silent(report)) CloseSilent(pass, launch, report);
}

// One that was asked for more than once is given up at a second look, unless its twin has spoken.
bool AwaitsTwin(Pass& pass, Launch& launch, const MachineSeen& gone) {
  if (!MayHaveTwin(pass, launch, gone)) return false;
  if (launch.absent_since) return true;
  launch.absent_since = pass.seen.now;
  pass.Changed(gone.instance_id +
               " is gone before it has begun, and was asked for more than once: " +
               "looking again in " + HumanDuration(kSecondLookAfter));
  return true;
}

// What its node said before it was stopped says nothing of how it is.
void CheckComingBack(Pass& pass, Launch& launch, const MachineSeen& machine) {
  if (!IsSilentSincePower(pass, launch) || *machine.up_for <= kReportWithin) return;
  CloseLaunch(pass, launch, CloseReason::kLost,
              "no report within " + HumanDuration(kReportWithin) + " of being started again");
}

// Its power is off because it could not begin: once more is no better.
// Where enough machines could not begin in a region and the job may ask elsewhere, that region has
// refused it.
void CloseUnbooted(Pass& pass, Launch& launch, const MachineSeen& machine) {
  Job& job = pass.job();
  const std::string why = "its machine ended itself before it began: " + machine.boot->why;
  launch.boot_lasts = machine.boot->lasts || BugIsOn("outage-is-no-way");
  launch.boot_outage = machine.boot->outage;
  launch.close_why = why;
  Request* const request = FindRequest(job, launch.request);
  const bool refused = launch.boot_lasts && request != nullptr &&
                       CannotBeginIn(job, request->ask.place) &&
                       WhyBootsFail(job, OffersOf(pass)).empty();
  if (refused) {
    const Refusal no{RefusalClass::kDenied, RefusalScope::kRegion, {}, {}, false, why};
    request->refusal = LateRefusal(job, *request, no, pass.seen.now);
  }
  CloseLaunch(pass, launch, refused ? CloseReason::kNeverCame : CloseReason::kLost, why);
}

void CheckPresent(Pass& pass, Launch& launch, const MachineSeen& machine) {
  NoteMet(pass, &launch, machine);
  if (machine.boot && !HasBegun(pass, launch)) return CloseUnbooted(pass, launch, machine);
  if (machine.state == MachineState::kGone) {
    if (HasLivingTwin(pass, launch, machine)) return CheckTwin(pass, launch);
    if (!IsBornDead(pass, launch, machine) && AwaitsTwin(pass, launch, machine)) return;
    // What is left out later is gone.
    if (!pass.Place(launch).absent_means_gone) launch.absent_since = pass.seen.now;
    if (IsBornDead(pass, launch, machine)) return CloseBornDead(pass, launch, machine);
    HeedOwner(pass, launch, machine);
    CloseGone(pass, launch,
              "the provider says it is gone" + (machine.why.empty() ? "" : ": " + machine.why));
    return;
  }
  if (machine.state == MachineState::kStopped) return CheckStopped(pass, launch, machine);
  // Its node may commit what it saves until the machine is gone.
  HeedOwner(pass, launch, machine);
  NoteUp(pass, launch);
  if (IsAwaitedBack(pass, launch)) return CheckComingBack(pass, launch, machine);
  const ReportSeen* report = pass.NewestReport(launch.number);
  const bool queued = machine.state == MachineState::kQueued && !BugIsOn("queued-is-late");
  if (queued && report == nullptr) return;
  if (BugIsOn("silent-is-ended") && report != nullptr && report->age >= kSilentAfter) {
    pass.out.terminate.push_back({pass.RequestOf(launch).ask.place.provider, machine.instance_id});
  } else if (report == nullptr) {
    if (CouldReport(pass, launch, machine) > kReportWithin) {
      CloseLaunch(pass, launch, CloseReason::kLost,
                  "no report within " + HumanDuration(kReportWithin) + ": it did not come up");
    }
  } else if (Silent(*report)) {
    CloseSilent(pass, launch, *report);
  }
}

// What the provider leaves out does not exist, or is too new to be listed, or was left out by an
// answer that is behind or has a hole.
void CheckAbsent(Pass& pass, Launch& launch) {
  const WallTime not_after = pass.RequestOf(launch).not_after;
  const ReportSeen* report = pass.NewestReport(launch.number);
  const bool absent = IsSeenToBeAbsent(pass, launch.number);
  if (!HasBegun(pass, launch)) {
    const bool late = pass.seen.now > not_after + kAppearWithin;
    if (absent && late && !BugIsOn("never-given-up")) {
      CloseLaunch(pass, launch, CloseReason::kNeverCame,
                  "no machine came within " + HumanDuration(kSendWithin + kAppearWithin));
    }
  } else if (absent) {
    CloseGone(pass, launch, "the provider does not list it any more");
  } else if (report != nullptr && Silent(*report) && IsPatienceOver(pass, launch) &&
             !IsAwaitedBack(pass, launch)) {
    CloseSilent(pass, launch, *report);
  }
}

// The launch was asked for, and no word has come of what became of that: while it may be sent, a
// request may be on its way, and a machine come of it that no list can show yet. One that comes up
// ends itself, as it finds its job ended; one that is stopped before hears of nothing.
bool MayBeOnItsWay(const Pass& pass, const Launch& launch) {
  const Request& request = pass.RequestOf(launch);
  if (request.tries == 0 || pass.seen.now > request.not_after) return false;
  const bool over =
      request.refusal && (request.refusal->final || request.refusal->what == RefusalClass::kOver);
  return !over && launch.instance_id.empty() && !HasBegun(pass, launch);
}

// Its node is a better witness than a refusal that says that it came and went: that may be its
// twin.
bool Reports(const Pass& pass, const Launch& launch) {
  const ReportSeen* report = pass.NewestReport(launch.number);
  return report != nullptr && !Silent(*report);
}

// Requests of which somebody has met a machine, then or before: a list may leave it out now.
std::set<int> RequestsMet(const Pass& pass) {
  std::set<int> met = RequestsSeen(pass);
  for (const Launch& launch : pass.out.job.launches) {
    if (!launch.instance_id.empty()) met.insert(launch.request);
  }
  return met;
}

}  // namespace

std::string LaunchText(const Launch& launch) {
  return "launch " + std::to_string(launch.number) + " (slot " + std::to_string(launch.slot) + ")";
}

void CloseLaunch(Pass& pass, Launch& launch, CloseReason reason, std::string why) {
  launch.closed = true;
  launch.closed_at = pass.seen.now;
  pass.Changed(LaunchText(launch) + " closed, " + std::string(Name(reason)) + ": " + why);
  launch.close_reason = reason;
  launch.close_why = std::move(why);
}

void CloseDeadLaunches(Pass& pass) {
  const std::set<int> met = RequestsMet(pass);
  for (Launch& launch : pass.job().launches) {
    if (launch.closed) continue;
    const std::optional<Refusal> refusal = pass.RequestOf(launch).refusal;
    const bool over = refusal && refusal->what == RefusalClass::kOver;
    // Somebody else may have been given the machines that were refused to who wrote it down: all of
    // a gang's then, though not each is listed yet.
    const bool unmet = !over && !met.contains(launch.request);
    const bool refused = unmet && refusal && refusal->final;
    if (refused && launch.index > 0 && BugIsOn("gang-refused-in-part")) continue;
    if (const MachineSeen* machine = pass.Machine(launch.number)) {
      CheckPresent(pass, launch, *machine);
    } else if (unmet && GoesElsewhere(pass, launch)) {
      CloseLaunch(pass, launch, CloseReason::kNeverCame,
                  pass.RequestOf(launch).refusal->message + "; it is asked for at another place");
    } else if (refused) {
      CloseLaunch(pass, launch, CloseReason::kRefused, refusal->message);
    } else if (over && !Reports(pass, launch)) {
      // It came and went between two looks.
      if (!IsToldLater(pass, launch)) CloseGone(pass, launch, refusal->message);
    } else if (pass.Place(launch).known) {
      CheckAbsent(pass, launch);
    }
  }
}

void CloseNotArrived(Pass& pass, size_t index) {
  // Once it ran, all have come: a report that is not there now has been damaged.
  if (pass.job().attempts[index].running) return;
  for (const int number : pass.job().attempts[index].launches) {
    Launch* launch = FindLaunch(pass.job(), number);
    if (launch == nullptr || launch->closed || pass.NewestReport(number) != nullptr) continue;
    if (!pass.Place(*launch).known && !IsUnheardSinceCancel(pass, *launch)) continue;
    // A machine that boots is of use to the next attempt, if there will be one.
    const auto& ending = pass.job().attempts[index].ending;
    const bool last = pass.job().cancel || (ending && ending->reason == EndReason::kNoProgress);
    const bool of_use = !last && !IsLeft(pass.job(), *launch);
    if (pass.Machine(number) != nullptr && of_use) continue;
    const bool left = IsLeft(pass.job(), *launch);
    CloseLaunch(pass, *launch, left ? CloseReason::kMoved : CloseReason::kSuperseded,
                "the attempt was over before its machine came");
  }
}

void CloseUnusedLaunches(Pass& pass) {
  const bool final = IsFinal(pass.job().state);
  for (Launch& launch : pass.job().launches) {
    if (launch.closed) continue;
    bool used = false;
    for (const Attempt& attempt : pass.job().attempts) {
      const auto& launches = attempt.launches;
      used |= attempt.state != AttemptState::kEnded &&
              std::find(launches.begin(), launches.end(), launch.number) != launches.end();
    }
    if (used && !final) continue;
    if (final && Keep(pass, launch)) continue;
    // Its node asks for the one in its place as soon as that may be.
    if (!final && IsHeldFor(pass, launch)) continue;
    if (final) {
      CloseLaunch(pass, launch, CloseReason::kDone, "the job ended");
    } else if (IsLeft(pass.job(), launch)) {
      CloseLaunch(pass, launch, CloseReason::kMoved, "the job moves to " + pass.job().move->to);
    } else if (pass.Noticed(launch.number)) {
      CloseLaunch(pass, launch, CloseReason::kInterrupted, "its platform takes it");
    } else {
      CloseLaunch(pass, launch, CloseReason::kSuperseded, "no open attempt needs it");
    }
  }
}

bool NothingIsLeft(const Pass& pass) {
  for (const MachineSeen& machine : pass.seen.machines) {
    if (!machine.freed) return false;
  }
  // A machine whose request was answered too late, or not at all, may be listed only later.
  for (const Launch& launch : pass.out.job.launches) {
    const PlaceSeen& place = pass.Place(launch);
    if (!place.known) return false;
    if (pass.Machine(launch.number) != nullptr) continue;
    if (place.absent_means_gone) {
      if (place.may_stop && MayBeOnItsWay(pass, launch) && !BugIsOn("left-on-its-way"))
        return false;
      continue;
    }
    if (pass.seen.now < pass.RequestOf(launch).not_after + kAppearWithin) return false;
    if (!IsSeenToBeAbsent(pass, launch.number) && !IsBeyondItsLimit(pass, launch)) return false;
  }
  return true;
}

// A machine is ended only on a launch that was closed in the record as read (no-blind-kill). One
// that has worked is given time to upload its last lines and to power itself off.
bool MayBeEnded(const Pass& pass, const Launch& launch, bool is_gone) {
  if (!launch.closed) return false;
  if (StaysKept(pass, launch) && !pass.MachineGone(launch.number)) return false;
  const bool leaves_by_itself = launch.close_reason == CloseReason::kDone ||
                                launch.close_reason == CloseReason::kSuperseded ||
                                launch.close_reason == CloseReason::kMoved ||
                                launch.close_reason == CloseReason::kInterrupted ||
                                launch.close_reason == CloseReason::kKept;
  const ReportSeen* report = pass.NewestReport(launch.number);
  // One that was kept has nothing to do any more once its node has said its last word.
  const bool over = report == nullptr || (launch.close_reason == CloseReason::kKept &&
                                          report->report.phase == NodePhase::kEnded);
  const WallTime closed = launch.closed_at.value_or(WallTime{});
  return !leaves_by_itself || over || is_gone || pass.seen.now - closed >= kLingerAfterClose;
}

void ChooseTerminations(Pass& pass) {
  if (BugIsOn("closed-is-left")) return;
  for (const MachineSeen& machine : pass.seen.machines) {
    const Launch* launch =
        FindLaunch(pass.before, machine.launch - (BugIsOn("launch-off-by-one") ? 1 : 0));
    if (launch == nullptr || machine.freed) continue;
    if (!MayBeEnded(pass, *launch, machine.state >= MachineState::kStopped)) continue;
    if (!EndsNoOther(pass, *launch)) continue;
    pass.out.terminate.push_back({pass.RequestOf(*launch).ask.place.provider, machine.instance_id});
    pass.out.notes.push_back("ending " + machine.instance_id + " of closed " + LaunchText(*launch));
  }
}

}  // namespace stoker::reconcile_internal
