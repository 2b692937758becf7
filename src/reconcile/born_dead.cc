// SPDX-License-Identifier: Apache-2.0
// Machines that were accepted and died before they came up, because there was no room for them
// after all, or they could not be made: a refusal that comes late. It counts as one that came at
// once: its request is refused, and neither program nor machine has failed.
#include "base/deliberate_bug.h"
#include "policy/placement.h"
#include "reconcile/outcomes.h"
#include "reconcile/pass.h"

namespace stoker::reconcile_internal {

bool IsBornDead(const Pass& pass, const Launch& launch, const MachineSeen& machine) {
  if (machine.state != MachineState::kGone || !machine.refusal) return false;
  const RefusalClass what = machine.refusal->what;
  const bool is_no = what != RefusalClass::kOver && what != RefusalClass::kUnanswered;
  return is_no && !HasBegun(pass, launch) && !BugIsOn("born-dead-is-lost");
}

void CloseBornDead(Pass& pass, Launch& launch, const MachineSeen& machine) {
  Job& job = pass.job();
  Request* const request = FindRequest(job, launch.request);
  if (request == nullptr) return;
  const Refusal late = LateRefusal(job, *request, *machine.refusal, pass.seen.now);
  // "Over" says only that it came and went: of what, is told now.
  const bool stands =
      request->refusal && request->refusal->final && request->refusal->what != RefusalClass::kOver;
  if (!stands && !BugIsOn("late-refusal-forgotten")) request->refusal = late;
  const bool elsewhere = IsBetterElsewhere(*request, OffersHere(pass), job.requests, pass.seen.now);
  const bool refused = (late.final || stands) && !elsewhere;
  CloseLaunch(pass, launch, refused ? CloseReason::kRefused : CloseReason::kNeverCame,
              "its machine died before it was up: " + late.message);
}

bool IsToldLater(const Pass& pass, const Launch& launch) {
  const PlaceSeen& place = pass.Place(launch);
  const bool behind = !place.known || !place.absent_means_gone;
  return behind && !HasBegun(pass, launch) && pass.seen.now <= pass.RequestOf(launch).not_after;
}

}  // namespace stoker::reconcile_internal
