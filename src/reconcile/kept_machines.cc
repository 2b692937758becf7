// SPDX-License-Identifier: Apache-2.0
// Machines of a job that failed, which somebody may want to look at (keep_failed): only their owner
// ends them before their time, and whoever looks after it (docs/decisions/0031).
#include <algorithm>

#include "base/deliberate_bug.h"
#include "base/text.h"
#include "reconcile/pass.h"

namespace stoker::reconcile_internal {
namespace {

// There is something to see there: the program ran, or was to, in the attempt that failed.
bool HasWorked(const Pass& pass, const Launch& launch) {
  const Attempt* failed = NewestNeeded(pass.out.job);
  if (failed == nullptr || pass.NewestReport(launch.number) == nullptr) return false;
  const auto& mine = failed->launches;
  return std::find(mine.begin(), mine.end(), launch.number) != mine.end();
}

// One whose absence means something has been given up by now.
bool IsThere(const Pass& pass, const Launch& launch) {
  const MachineSeen* machine = pass.Machine(launch.number);
  return machine == nullptr || machine->state < MachineState::kStopped;
}

}  // namespace

bool Keep(Pass& pass, Launch& launch) {
  const Job& job = pass.out.job;
  if (!pass.spec.keep_failed || job.state != JobState::kFailed || BugIsOn("failed-is-let-go")) {
    return false;
  }
  if (job.cancel && !BugIsOn("cancelled-is-kept")) return false;
  if (!HasWorked(pass, launch) || !IsThere(pass, launch)) return false;
  // Its lease is not moved any more, so no machine is promised for longer than that.
  const Duration limit = pass.RequestOf(launch).limit;
  const Duration span =
      limit.ms > 0 ? std::min(*pass.spec.keep_failed, limit) : *pass.spec.keep_failed;
  launch.kept_until = pass.seen.now + span;
  CloseLaunch(pass, launch, CloseReason::kKept,
              "the job failed, and keep_failed is " + HumanDuration(*pass.spec.keep_failed));
  return true;
}

bool StaysKept(const Pass& pass, const Launch& launch) {
  if (launch.close_reason != CloseReason::kKept || BugIsOn("kept-is-ended")) return false;
  return IsKept(launch, pass.seen.now) || BugIsOn("kept-for-ever");
}

}  // namespace stoker::reconcile_internal
