// SPDX-License-Identifier: Apache-2.0
// Machines that their provider does not list. One answer that leaves a machine out proves nothing:
// it may be behind, or have a hole. So the first look is remembered in the record, and a later one,
// by whoever, has to say the same while the node says nothing.
#include <algorithm>

#include "base/deliberate_bug.h"
#include "reconcile/pass.h"

namespace stoker::reconcile_internal {
namespace {

bool ReportedSince(const Pass& pass, const ReportSeen* report, WallTime since) {
  return report != nullptr && pass.seen.now - report->age > since;
}

// An open attempt waits for its machines; a job that has ended, for all of them to be gone.
bool IsAwaited(const Pass& pass, const Launch& launch) {
  if (IsFinal(pass.before.state)) return !IsBeyondItsLimit(pass, launch);
  return CurrentAttempt(pass.before, launch.number) != nullptr;
}

}  // namespace

bool HasJustSpoken(const ReportSeen* report) {
  return report != nullptr && report->age < kSecondLookAfter;
}

bool HasLivingTwin(const Pass& pass, const Launch& launch, const MachineSeen& gone) {
  const PlaceSeen& place = pass.Place(launch);
  if (place.absent_means_gone || BugIsOn("twin-is-the-one")) return false;
  const ReportSeen* report = pass.NewestReport(launch.number);
  if (report == nullptr || report->report.instance_id.empty()) return false;
  // It was made before its node reported. If it still lived, it would be in the list by then.
  return report->report.instance_id != gone.instance_id &&
         report->age <= std::max(place.appear_within, kSilentAfter);
}

bool MayHaveTwin(const Pass& pass, const Launch& launch, const MachineSeen& gone) {
  const bool once = pass.RequestOf(launch).tries <= 1 || pass.Place(launch).absent_means_gone;
  if (once || BugIsOn("twin-is-the-one")) return false;
  // Who has come so far has the claim.
  const ReportSeen* report = pass.NewestReport(launch.number);
  const bool claimed = report != nullptr && report->report.instance_id == gone.instance_id &&
                       report->report.phase > NodePhase::kWaiting;
  if (claimed) return false;
  if (launch.closed_at) return pass.seen.now - *launch.closed_at < kTwinMayBegin;
  return !launch.absent_since || pass.seen.now - *launch.absent_since < kSecondLookAfter;
}

bool HasBegun(const Pass& pass, const Launch& launch) {
  if (pass.NewestReport(launch.number) != nullptr) return true;
  // Once it ran, all have come: a report that is not there now has been damaged.
  const Attempt* attempt = CurrentAttempt(pass.before, launch.number);
  return attempt != nullptr && attempt->running.has_value();
}

bool IsUnheardSinceCancel(const Pass& pass, const Launch& launch) {
  const Job& job = pass.before;
  return job.cancel && pass.Place(launch).elsewhere && !HasBegun(pass, launch) &&
         pass.seen.now - job.cancel->at >= kUnheardAfterCancel;
}

bool IsBeyondItsLimit(const Pass& pass, const Launch& launch) {
  const Request& request = pass.RequestOf(launch);
  const WallTime closed = launch.closed_at.value_or(request.not_after);
  return pass.seen.now > std::max(closed, launch.kept_until.value_or(closed)) + request.limit;
}

bool IsPatienceOver(const Pass& pass, const Launch& launch) {
  const WallTime not_after = pass.RequestOf(launch).not_after;
  // What shows up later is ended: it has begun nothing.
  if (!HasBegun(pass, launch)) return pass.seen.now > not_after;
  const Duration patience = pass.Place(launch).appear_within;
  // It was made before its node reported, and not after its time.
  const ReportSeen* report = pass.NewestReport(launch.number);
  if (report != nullptr && report->age > patience) return true;
  return pass.seen.now > not_after + patience;
}

bool IsSeenToBeAbsent(const Pass& pass, int number) {
  const Launch* launch = FindLaunch(pass.before, number);
  if (launch == nullptr || pass.Machine(number) != nullptr) return false;
  const PlaceSeen& place = pass.Place(*launch);
  if (!place.known) return false;
  // Such a provider reads what it is: no answer of it is behind another.
  if (place.absent_means_gone || BugIsOn("one-absent-look")) return true;
  if (!launch->absent_since) return false;
  const ReportSeen* report = pass.NewestReport(number);
  return pass.seen.now - *launch->absent_since >= kSecondLookAfter && !HasJustSpoken(report) &&
         !ReportedSince(pass, report, *launch->absent_since);
}

void RememberAbsent(Pass& pass) {
  for (Launch& launch : pass.job().launches) {
    const PlaceSeen& place = pass.Place(launch);
    if (!place.known || place.absent_means_gone) continue;
    const MachineSeen* machine = pass.Machine(launch.number);
    const std::string name = "the machine of launch " + std::to_string(launch.number);
    // A job leaves with all that is to be said of its machines: after that nothing is written.
    const bool leaves = IsFinal(pass.before.state);
    const bool gone = machine != nullptr && machine->state == MachineState::kGone;
    if (machine != nullptr && !(gone && leaves)) {
      if (gone || leaves || !launch.absent_since) continue;
      launch.absent_since.reset();
      pass.Changed(name + " is listed again");
      continue;
    }
    if (!IsAwaited(pass, launch)) continue;
    const ReportSeen* report = pass.NewestReport(launch.number);
    if (!gone && (!IsPatienceOver(pass, launch) || HasJustSpoken(report))) continue;
    const bool again = launch.absent_since && ReportedSince(pass, report, *launch.absent_since);
    if (launch.absent_since && (gone || !again)) continue;
    launch.absent_since = pass.seen.now;
    pass.Changed(gone ? name + " is gone"
                      : name + " is not listed: looking again in " +
                            HumanDuration(kSecondLookAfter));
  }
}

}  // namespace stoker::reconcile_internal
