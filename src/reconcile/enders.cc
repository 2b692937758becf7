// SPDX-License-Identifier: Apache-2.0
// Who ended a machine. A person who ends one by hand wants no other in its place, and platforms say
// who it was, some seconds later: until then nothing is asked for in its place. What a platform
// takes, its notice tells before.
#include <algorithm>

#include "base/deliberate_bug.h"
#include "reconcile/pass.h"
#include "spec/text/infra.h"

namespace stoker::reconcile_internal {
namespace {

// The machine of `launch` is gone or about to be, and its place, which can tell, has not said who
// ends it.
bool IsEnderUnknown(const Pass& pass, const Launch& launch) {
  if (!pass.Place(launch).tells_ender || BugIsOn("owner-is-not-awaited")) return false;
  // What was refused, at once or late, nobody has ended.
  const bool refused = launch.closed && (launch.close_reason == CloseReason::kRefused ||
                                         launch.close_reason == CloseReason::kNeverCame);
  const MachineSeen* machine = pass.Machine(launch.number);
  if (refused || (machine != nullptr && machine->refusal)) return false;
  const bool stopped = machine != nullptr && machine->state == MachineState::kStopped;
  if (stopped || (machine != nullptr && machine->ended_by != EndedBy::kUnknown)) return false;
  const ReportSeen* report = pass.NewestReport(launch.number);
  if (report != nullptr && report->report.notice) return report->report.notice->unexplained;
  if (machine != nullptr) return machine->state == MachineState::kGone;
  return launch.closed && launch.close_reason == CloseReason::kLost && launch.absent_since;
}

// The newest launch before `request` of each of its slots, of which it is not known who ended it.
std::vector<const Launch*> Unexplained(const Pass& pass, const Request& request) {
  std::vector<const Launch*> found;
  for (const int slot : request.slots) {
    const Launch* before = nullptr;
    for (const Launch& launch : pass.out.job.launches) {
      if (launch.slot == slot && launch.request < request.number) before = &launch;
    }
    if (before != nullptr && IsEnderUnknown(pass, *before)) found.push_back(before);
  }
  return found;
}

bool MayStillBeHeld(const Pass& pass, const Request& request) {
  return request.tries == 0 && pass.seen.now - request.opened < kEnderWithin;
}

}  // namespace

void HeedOwner(Pass& pass, const Launch& launch, const MachineSeen& machine) {
  Job& job = pass.job();
  if (machine.ended_by != EndedBy::kOwner || job.cancel || BugIsOn("owner-is-ignored")) return;
  // None, and open: its attempt has ended of this, and another machine was held back.
  if (const Attempt* attempt = CurrentAttempt(job, launch.number)) {
    const auto& mine = attempt->launches;
    const auto rank = std::find(mine.begin(), mine.end(), launch.number) - mine.begin();
    if (pass.CompletedAt(*attempt, static_cast<int>(rank))) return;
  }
  const std::string place = InfraWordOf(pass.RequestOf(launch).ask.place.provider);
  job.cancel = CancelRequest{pass.seen.now, "who ended " + machine.instance_id + " at " + place};
  pass.Changed("its owner has ended " + machine.instance_id + ": the job is cancelled");
}

bool IsHeld(const Pass& pass, const Request& request) {
  return MayStillBeHeld(pass, request) && !Unexplained(pass, request).empty();
}

bool IsHeldFor(const Pass& pass, const Launch& launch) {
  if (!IsEnderUnknown(pass, launch)) return false;
  const auto& requests = pass.out.job.requests;
  return std::any_of(requests.begin(), requests.end(), [&](const Request& request) {
    if (!MayStillBeHeld(pass, request)) return false;
    const std::vector<const Launch*> of = Unexplained(pass, request);
    return std::find(of.begin(), of.end(), &launch) != of.end();
  });
}

std::optional<std::string> NotToldInTime(const Pass& pass, const Request& request) {
  const std::vector<const Launch*> of = Unexplained(pass, request);
  if (of.empty()) return std::nullopt;
  const std::string& id = of.front()->instance_id;
  return id.empty() ? LaunchText(*of.front()) : id;
}

}  // namespace stoker::reconcile_internal
