// SPDX-License-Identifier: Apache-2.0
// Machines that were stopped: nothing runs on them, but they cost, and may come up again by
// themselves. Where the job wants its machines again (on_stop: restart), each keeps its launch over
// the stop: it is asked to come up, and the node that comes goes on with what lies on its disk.
// Else one whose node has begun is given up and ended like one that is lost, since its program is
// dead whatever becomes of it; and one that has begun nothing is asked to come up, as long as its
// request's time lasts (docs/decisions/0021, 0032).
#include <map>

#include "base/deliberate_bug.h"
#include "base/text.h"
#include "reconcile/pass.h"

namespace stoker::reconcile_internal {
namespace {

// What its platform said with a notice that leaves the disk there.
bool IsOfStop(const Notice& notice) {
  return notice.action == "stop" || notice.action == "hibernate";
}

// A no that holds where the machine is, and it can be nowhere else.
bool IsNoRoom(const Refusal& refusal) {
  return refusal.what == RefusalClass::kCapacity || refusal.what == RefusalClass::kQuota ||
         refusal.what == RefusalClass::kInvalid;
}

// Why nobody waits for it any more; "" = it is waited for.
std::string WhyNotAgain(const Pass& pass, const Launch& launch, const MachineSeen& machine) {
  if (launch.starts) {
    const auto& told = machine.refusal ? machine.refusal : launch.start_refusal;
    if (told && IsNoRoom(*told)) return "it cannot be started again: " + told->message;
  }
  if (!launch.stopped_since || BugIsOn("stopped-is-kept")) return "";
  if (pass.seen.now - *launch.stopped_since <= kRestartWithin) return "";
  return "it did not come up again within " + HumanDuration(kRestartWithin);
}

void StartOne(Pass& pass, Launch& launch, const MachineSeen& machine) {
  // One of all who look asks: whose write moves the next try.
  const bool early = launch.next_start && pass.seen.now < *launch.next_start;
  if (early && !BugIsOn("starts-unpaced")) return;
  Duration pause = kStartPause;
  if (launch.start_refusal) pause = std::max(pause, launch.start_refusal->wait);
  launch.next_start = pass.seen.now + pause;
  launch.starts = launch.starts.value_or(0) + 1;
  pass.out.start.push_back({pass.RequestOf(launch).ask.place.provider, machine.instance_id});
  pass.Changed(machine.instance_id + " is stopped: it is asked to come up again");
}

}  // namespace

bool Restarts(const Pass& pass, const Launch& launch) {
  return pass.spec.on_stop == OnStop::kRestart && pass.Place(launch).can_start &&
         !IsLeft(pass.out.job, launch) && !pass.out.job.cancel && !IsFinal(pass.out.job.state);
}

bool IsOff(const Pass& pass, const Launch& launch) {
  const MachineSeen* machine = launch.closed ? nullptr : pass.Machine(launch.number);
  if (machine == nullptr || machine->state != MachineState::kStopped) return false;
  // What is stopped may be up again where a list is behind: its node says so.
  const bool behind = !pass.Place(launch).absent_means_gone;
  return !behind || !HasJustSpoken(pass.NewestReport(launch.number));
}

bool IsSilentSincePower(const Pass& pass, const Launch& launch) {
  const MachineSeen* machine = pass.Machine(launch.number);
  const ReportSeen* report = pass.NewestReport(launch.number);
  return machine != nullptr && report != nullptr && machine->state < MachineState::kStopped &&
         machine->up_for && report->age > *machine->up_for;
}

bool IsStopNotice(const Pass& pass, const Launch& launch) {
  const ReportSeen* report = pass.NewestReport(launch.number);
  return report != nullptr && report->report.notice && IsOfStop(*report->report.notice) &&
         Restarts(pass, launch) && !BugIsOn("successor-despite-restart");
}

bool IsAwaitedBack(const Pass& pass, const Launch& launch) {
  if (launch.closed || !Restarts(pass, launch) || !HasBegun(pass, launch)) return false;
  if (IsOff(pass, launch) || IsSilentSincePower(pass, launch)) return true;
  // What is not listed at this look is as it was.
  if (launch.stopped_since && pass.Machine(launch.number) == nullptr) return true;
  if (!IsStopNotice(pass, launch)) return false;
  return pass.seen.now <= pass.NewestReport(launch.number)->report.notice->until + kStopSlack;
}

bool MayBeStarted(const Pass& pass, const Launch& launch) {
  const bool begun = HasBegun(pass, launch) && !BugIsOn("begun-is-started");
  return pass.Place(launch).can_start && !begun && !pass.out.job.cancel &&
         pass.seen.now <= pass.RequestOf(launch).not_after + kReportWithin;
}

bool KeepStopped(Pass& pass, Launch& launch, const MachineSeen& machine) {
  const std::string why = WhyNotAgain(pass, launch, machine);
  if (!why.empty()) {
    CloseLaunch(pass, launch, CloseReason::kInterrupted, why);
    return false;
  }
  if (launch.stopped_since) return true;
  launch.stopped_since = pass.seen.now;
  pass.Changed(machine.instance_id + " is stopped, and is to come up again" +
               (machine.why.empty() ? "" : ": " + machine.why));
  return true;
}

void NoteUp(Pass& pass, Launch& launch) {
  if (!launch.stopped_since || IsAwaitedBack(pass, launch)) return;
  launch.stopped_since.reset();
  launch.next_start.reset();
  launch.start_refusal.reset();
  pass.Changed("the machine of launch " + std::to_string(launch.number) + " is up again");
}

void ChooseStarts(Pass& pass) {
  Job& job = pass.job();
  if (IsFinal(job.state)) return;
  std::map<int, std::vector<const MachineSeen*>> stopped;  // by request
  for (Launch& launch : job.launches) {
    const MachineSeen* machine = launch.closed ? nullptr : pass.Machine(launch.number);
    if (machine == nullptr || machine->state != MachineState::kStopped) continue;
    if (Restarts(pass, launch)) {
      if (launch.stopped_since) StartOne(pass, launch, *machine);
    } else if (MayBeStarted(pass, launch)) {
      stopped[launch.request].push_back(machine);
    }
  }
  for (const auto& [number, machines] : stopped) {
    Request* const request = FindRequest(job, number);
    // One of all who look asks: whose write moves the next try.
    if (request == nullptr || (request->next_try && pass.seen.now < *request->next_try)) continue;
    request->next_try = pass.seen.now + kStartPause;
    for (const MachineSeen* machine : machines) {
      pass.out.start.push_back({request->ask.place.provider, machine->instance_id});
      pass.Changed(machine->instance_id + " is stopped: it is asked to come up again");
    }
  }
}

}  // namespace stoker::reconcile_internal
