// SPDX-License-Identifier: Apache-2.0
// Launches: which machines to ask for, which to give up, which to end.
#include <algorithm>

#include "base/deliberate_bug.h"
#include "reconcile/outcomes.h"
#include "reconcile/pass.h"

namespace stoker::reconcile_internal {
namespace {

std::string Text(const Launch& launch) {
  return "launch " + std::to_string(launch.number) + " (slot " + std::to_string(launch.slot) + ")";
}

bool Silent(const ReportSeen& report) { return report.age >= kSilentAfter; }

// A provider that says how long to wait is believed.
Duration PauseOf(const Launch& launch) {
  const Duration told = launch.refusal ? launch.refusal->wait : Duration{};
  return std::max(SendPause(launch.tries), told);
}

// A machine that is gone was interrupted if its node had been told so, else it is lost.
void CloseGone(Pass& pass, Launch& launch, const std::string& why) {
  const bool noticed = pass.Noticed(launch.number);
  CloseLaunch(pass, launch, noticed ? CloseReason::kInterrupted : CloseReason::kLost, why);
}

void CheckPresent(Pass& pass, Launch& launch, const MachineSeen& machine) {
  if (launch.instance_id.empty()) launch.instance_id = machine.instance_id;  // goes with a write
  if (machine.state == MachineState::kGone) {
    CloseGone(pass, launch,
              "the provider says it is gone" + (machine.why.empty() ? "" : ": " + machine.why));
    return;
  }
  const ReportSeen* report = pass.NewestReport(launch.number);
  if (BugIsOn("silent-is-ended") && report != nullptr && Silent(*report)) {
    pass.out.terminate.push_back({launch.provider, machine.instance_id});
  } else if (report == nullptr) {
    // It may have been asked for as late as not_after, when capacity was short.
    if (pass.seen.now - launch.not_after > kReportWithin) {
      CloseLaunch(pass, launch, CloseReason::kLost,
                  "no report within " + HumanDuration(kReportWithin) +
                      " of its request: it did not come up");
    }
  } else if (Silent(*report) && report->unchanged >= kSilentAfter) {
    CloseLaunch(pass, launch, CloseReason::kLost,
                "silent: its report is " + HumanDuration(report->age) + " old and report " +
                    std::to_string(report->report.seq) + " was the newest for " +
                    HumanDuration(report->unchanged));
  }
}

// What the provider leaves out does not exist, or is too new to be listed, or was left out by an
// answer that is behind: a node that still reports is the better witness then.
void CheckAbsent(Pass& pass, Launch& launch) {
  const ReportSeen* report = pass.NewestReport(launch.number);
  if (report == nullptr) {
    if (pass.seen.now > launch.not_after + kAppearWithin && !BugIsOn("never-given-up")) {
      CloseLaunch(pass, launch, CloseReason::kNeverCame,
                  "no machine came within " + HumanDuration(kSendWithin + kAppearWithin));
    }
    return;
  }
  const bool old = pass.seen.now > launch.not_after && Silent(*report);
  if (pass.Place(launch).absent_means_gone || old) {
    CloseGone(pass, launch, "the provider does not list it any more");
  }
}

}  // namespace

void CloseLaunch(Pass& pass, Launch& launch, CloseReason reason, std::string why) {
  launch.closed = true;
  launch.closed_at = pass.seen.now;
  pass.Changed(Text(launch) + " closed, " + std::string(Name(reason)) + ": " + why);
  launch.close_reason = reason;
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
  launch.limit = BugIsOn("time-limit-in-wrong-unit") ? kDefaultLease * 1000 : kDefaultLease;
  launch.token = LaunchToken(pass.seen.ledger_id, pass.job().id, launch);
  pass.Changed(Text(launch) + " opened");
  pass.job().launches.push_back(launch);
  return launch.number;
}

void CloseDeadLaunches(Pass& pass) {
  for (Launch& launch : pass.job().launches) {
    if (launch.closed) continue;
    const bool over = launch.refusal && launch.refusal->what == RefusalClass::kOver;
    // Somebody else may have been given the machine that was refused to who wrote it down.
    const bool refused = launch.refusal && launch.refusal->final && !over &&
                         pass.NewestReport(launch.number) == nullptr;
    if (const MachineSeen* machine = pass.Machine(launch.number)) {
      CheckPresent(pass, launch, *machine);
    } else if (refused) {
      CloseLaunch(pass, launch, CloseReason::kRefused, launch.refusal->message);
    } else if (over) {
      // It came and went between two looks.
      CloseGone(pass, launch, launch.refusal->message);
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
    if (!pass.Place(*launch).known) continue;
    // A machine that boots is of use to the next attempt, if there will be one.
    if (pass.Machine(number) != nullptr && !pass.job().cancel) continue;
    CloseLaunch(pass, *launch, CloseReason::kSuperseded,
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
    if (final) {
      CloseLaunch(pass, launch, CloseReason::kDone, "the job ended");
    } else if (pass.Noticed(launch.number)) {
      CloseLaunch(pass, launch, CloseReason::kInterrupted, "its platform takes it");
    } else {
      CloseLaunch(pass, launch, CloseReason::kSuperseded, "no open attempt needs it");
    }
  }
}

void ChooseSends(Pass& pass) {
  Job& job = pass.job();
  if (IsFinal(job.state) || job.cancel) return;
  bool waiting = false;
  for (Launch& launch : job.launches) {
    if (launch.closed || pass.seen.now > launch.not_after) continue;
    if (BugIsOn("launch-rewritten") && launch.refusal)
      launch.not_after = pass.seen.now + kSendWithin;
    if (pass.Machine(launch.number) != nullptr) continue;
    if (pass.NewestReport(launch.number) != nullptr) continue;
    waiting |= launch.refusal && launch.refusal->what == RefusalClass::kCapacity;
    // Who opens a launch asks for its machine; others after a while, and one of them: whose write
    // moves the next try.
    const bool is_new = FindLaunch(pass.before, launch.number) == nullptr;
    if (!is_new && !pass.Place(launch).known) continue;
    if (!is_new && launch.next_try && pass.seen.now < *launch.next_try) continue;
    ++launch.tries;
    launch.next_try = pass.seen.now + PauseOf(launch);
    if (!is_new) pass.Changed(Text(launch) + " is asked for again");
    pass.out.send.push_back(launch.number);
  }
  const bool runs = std::any_of(job.attempts.begin(), job.attempts.end(), [](const Attempt& a) {
    return a.state == AttemptState::kRunning || a.state == AttemptState::kDraining;
  });
  if (waiting && !runs && (job.state == JobState::kPending || job.state == JobState::kRunning)) {
    job.state = JobState::kWaiting;
    pass.Changed("waiting for capacity");
  }
}

// A machine is ended only on a launch that was closed in the record as read (no-blind-kill). One
// that has worked is given time to upload its last lines and to power itself off.
bool NothingIsLeft(const Pass& pass) {
  for (const MachineSeen& machine : pass.seen.machines) {
    if (!machine.freed) return false;
  }
  // A machine whose request was answered too late, or not at all, may be listed only later.
  for (const Launch& launch : pass.out.job.launches) {
    const PlaceSeen& place = pass.Place(launch);
    if (!place.known) return false;
    if (place.absent_means_gone || pass.Machine(launch.number) != nullptr) continue;
    if (pass.seen.now < launch.not_after + kAppearWithin) return false;
  }
  return true;
}

void ChooseTerminations(Pass& pass) {
  if (BugIsOn("closed-is-left")) return;
  for (const MachineSeen& machine : pass.seen.machines) {
    const Launch* launch =
        FindLaunch(pass.before, machine.launch - (BugIsOn("launch-off-by-one") ? 1 : 0));
    if (launch == nullptr || !launch->closed || machine.freed) continue;
    const bool leaves_by_itself = launch->close_reason == CloseReason::kDone ||
                                  launch->close_reason == CloseReason::kSuperseded ||
                                  launch->close_reason == CloseReason::kInterrupted;
    const bool worked = pass.NewestReport(launch->number) != nullptr;
    const WallTime closed = launch->closed_at.value_or(WallTime{});
    if (leaves_by_itself && worked && machine.state != MachineState::kGone &&
        pass.seen.now - closed < kLingerAfterClose) {
      continue;
    }
    pass.out.terminate.push_back({launch->provider, machine.instance_id});
    pass.out.notes.push_back("ending " + machine.instance_id + " of closed " + Text(*launch));
  }
}

}  // namespace stoker::reconcile_internal
