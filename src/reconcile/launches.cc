// SPDX-License-Identifier: Apache-2.0
// Launches: which machines to ask for, which to give up, which to end.
#include <algorithm>

#include "reconcile/pass.h"

namespace stoker::reconcile_internal {
namespace {

std::string Text(const Launch& launch) {
  return "launch " + std::to_string(launch.number) + " (slot " + std::to_string(launch.slot) + ")";
}

const LaunchOutcome* Outcome(const Pass& pass, int launch) {
  for (const LaunchOutcome& outcome : pass.seen.outcomes) {
    if (outcome.launch == launch) return &outcome;
  }
  return nullptr;
}

bool Refused(const Status& status) {
  return status.Is(Code::kDenied) || status.Is(Code::kInvalid) || status.Is(Code::kUsage);
}

// A machine that is gone was interrupted if its node had been told so, else it is lost.
void CloseGone(Pass& pass, Launch& launch, const std::string& why) {
  const bool noticed = pass.Noticed(launch.number);
  CloseLaunch(pass, launch, noticed ? "interrupted" : "lost", why);
}

void CheckPresent(Pass& pass, Launch& launch, const MachineSeen& machine) {
  if (launch.instance_id.empty()) launch.instance_id = machine.instance_id;  // goes with a write
  if (machine.state == MachineState::kGone) {
    CloseGone(pass, launch, "the provider says it is gone" +
                                (machine.why.empty() ? "" : ": " + machine.why));
    return;
  }
  const ReportSeen* report = pass.NewestReport(launch.number);
  if (report == nullptr) {
    if (pass.seen.now - launch.opened > kReportWithin) {
      CloseLaunch(pass, launch, "lost", "no report within " + HumanDuration(kReportWithin) +
                                            " of its request: it did not come up");
    }
  } else if (report->age >= kSilentAfter && report->unchanged >= kSilentAfter) {
    CloseLaunch(pass, launch, "lost",
                "silent: its report is " + HumanDuration(report->age) + " old and report " +
                    std::to_string(report->report.seq) + " was the newest for " +
                    HumanDuration(report->unchanged));
  }
}

void CheckAbsent(Pass& pass, Launch& launch) {
  const bool reported = pass.NewestReport(launch.number) != nullptr;
  const bool old = pass.seen.now > launch.not_after;
  if (reported && (pass.seen.absent_means_gone || old)) {
    CloseGone(pass, launch, "the provider does not list it any more");
  } else if (!reported && old) {
    CloseLaunch(pass, launch, "never-came", "no machine came within " + HumanDuration(kSendWithin));
  }
}

}  // namespace

void CloseLaunch(Pass& pass, Launch& launch, std::string reason, std::string why) {
  launch.closed = true;
  launch.closed_at = pass.seen.now;
  pass.Changed(Text(launch) + " closed, " + reason + ": " + why);
  launch.close_reason = std::move(reason);
  launch.close_why = std::move(why);
}

int OpenLaunch(Pass& pass, int slot) {
  Launch launch;
  launch.number = 1;
  for (const Launch& other : pass.job().launches) {
    launch.number = std::max(launch.number, other.number + 1);
  }
  launch.slot = slot;
  launch.provider = pass.spec.resources.infra;
  launch.opened = pass.seen.now;
  launch.not_after = pass.seen.now + kSendWithin;
  launch.limit = kDefaultLease;
  launch.token = LaunchToken(pass.seen.ledger_id, pass.job().id, launch);
  pass.Changed(Text(launch) + " opened");
  pass.job().launches.push_back(launch);
  return launch.number;
}

void CloseDeadLaunches(Pass& pass) {
  for (Launch& launch : pass.job().launches) {
    if (launch.closed) continue;
    const LaunchOutcome* outcome = Outcome(pass, launch.number);
    if (outcome != nullptr && Refused(outcome->status)) {
      CloseLaunch(pass, launch, "refused", outcome->status.ToString());
    } else if (const MachineSeen* machine = pass.Machine(launch.number)) {
      CheckPresent(pass, launch, *machine);
    } else if (pass.seen.machines_known) {
      CheckAbsent(pass, launch);
    }
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
    if (final) {
      CloseLaunch(pass, launch, "done", "the job ended");
    } else if (pass.Noticed(launch.number)) {
      CloseLaunch(pass, launch, "interrupted", "its platform takes it");
    } else {
      CloseLaunch(pass, launch, "superseded", "no open attempt needs it");
    }
  }
}

void ChooseSends(Pass& pass) {
  if (IsFinal(pass.job().state)) return;
  bool waiting = false;
  for (const Launch& launch : pass.job().launches) {
    if (launch.closed || pass.seen.now > launch.not_after) continue;
    const LaunchOutcome* outcome = Outcome(pass, launch.number);
    waiting |= outcome != nullptr && outcome->status.Is(Code::kNoSpace);
    if (pass.Machine(launch.number) != nullptr) continue;
    if (pass.NewestReport(launch.number) != nullptr) continue;
    const bool is_new = FindLaunch(pass.before, launch.number) == nullptr;
    if (is_new || pass.seen.machines_known) pass.out.send.push_back(launch.number);
  }
  Job& job = pass.job();
  if (waiting && (job.state == JobState::kPending || job.state == JobState::kRunning)) {
    job.state = JobState::kWaiting;
    pass.Changed("waiting for capacity");
  }
}

// A machine is ended only on a launch that was closed in the record as read (no-blind-kill). One
// that can still work is given time to upload its last lines and to power itself off.
void ChooseTerminations(Pass& pass) {
  for (const MachineSeen& machine : pass.seen.machines) {
    const Launch* launch = FindLaunch(pass.before, machine.launch);
    if (launch == nullptr || !launch->closed) continue;
    const bool leaves_by_itself = launch->close_reason == "done" ||
                                  launch->close_reason == "superseded" ||
                                  launch->close_reason == "interrupted";
    const WallTime closed = launch->closed_at.value_or(WallTime{});
    if (leaves_by_itself && machine.state != MachineState::kGone &&
        pass.seen.now - closed < kLingerAfterClose) {
      continue;
    }
    pass.out.terminate.push_back(machine.instance_id);
    pass.out.notes.push_back("ending " + machine.instance_id + " of closed " + Text(*launch));
  }
}

}  // namespace stoker::reconcile_internal
