// SPDX-License-Identifier: Apache-2.0
// Moves. The record has how machines can be had at the new place, and from which attempt and which
// request on things are of it. The next attempt is opened there at once; the nodes of the old one
// are told by the record alone, at once or, where that costs nothing, when all of the new machines
// have reported: a place that refuses, or has no room for hours, then costs no training.
#include <algorithm>

#include "reconcile/pass.h"

namespace stoker::reconcile_internal {
namespace {

std::string ByWhom(const Move& move) {
  return "moves to " + move.to + (move.by.empty() ? "" : ", as " + move.by + " wants it");
}

bool IsOpen(const Attempt& attempt) { return attempt.state != AttemptState::kEnded; }

// The open attempt at the new place; null while there is none.
const Attempt* Successor(const Job& job) {
  const auto found = std::find_if(job.attempts.rbegin(), job.attempts.rend(),
                                  [&](const Attempt& a) { return IsOpen(a) && !IsLeft(job, a); });
  return found == job.attempts.rend() ? nullptr : &*found;
}

const Launch* RefusedOf(const Job& job, const Attempt& attempt) {
  for (const int number : attempt.launches) {
    const Launch* launch = FindLaunch(job, number);
    if (launch == nullptr || IsLeft(job, *launch)) continue;
    if (launch->closed && launch->close_reason == CloseReason::kRefused) return launch;
  }
  return nullptr;
}

bool AllHaveReported(const Pass& pass, const Attempt& attempt) {
  return std::all_of(attempt.launches.begin(), attempt.launches.end(), [&](int number) {
    const Launch* launch = FindLaunch(pass.out.job, number);
    return launch != nullptr && !launch->closed && !IsLeft(pass.out.job, *launch) &&
           pass.NewestReport(number) != nullptr;
  });
}

void OpenThere(Pass& pass) {
  const Job& job = pass.job();
  if (Successor(job) != nullptr || job.cancel) return;
  const auto old = std::find_if(job.attempts.rbegin(), job.attempts.rend(), IsOpen);
  // What ends is followed by the next one anyway, unless the job ends with it.
  if (old == job.attempts.rend() || old->ending) return;
  const Attempt from = *old;
  OpenAttempt(pass, &from);
}

bool Reports(const Pass& pass, const Attempt& attempt) {
  for (int rank = 0; rank < NumNodes(attempt); ++rank) {
    if (pass.Report(attempt, rank) != nullptr) return true;
  }
  return false;
}

bool AnyRuns(const Pass& pass, const Attempt& attempt) {
  for (int rank = 0; rank < NumNodes(attempt); ++rank) {
    const ReportSeen* report = pass.Report(attempt, rank);
    if (report == nullptr) continue;
    const NodePhase phase = report->report.phase;
    if (phase == NodePhase::kRunning || phase == NodePhase::kDraining) return true;
  }
  return false;
}

}  // namespace

void GiveUpMove(Pass& pass, const std::string& why) {
  Job& job = pass.job();
  for (Attempt& attempt : job.attempts) {
    if (IsLeft(job, attempt) || attempt.state != AttemptState::kProvisioning) continue;
    MarkNotNeeded(pass, attempt, "the move to " + job.move->to + " is given up");
  }
  job.move->state = MoveState::kGivenUp;
  job.move->why = why;
  job.move->offers.clear();
  pass.Changed("the move to " + job.move->to + " is given up: " + why);
}

void AdvanceMove(Pass& pass) {
  Job& job = pass.job();
  if (!job.move) return;
  if (job.move->state == MoveState::kGivingUp) {
    // Its attempt is told by its number: for a moment the move counts as one under way.
    job.move->state = MoveState::kAsked;
    return GiveUpMove(pass, job.move->why);
  }
  if (MoveUnderWay(job) == nullptr || job.cancel) return;
  OpenThere(pass);
  const Attempt* next = Successor(job);
  if (next == nullptr || next->state != AttemptState::kProvisioning) return;
  if (const Launch* refused = RefusedOf(job, *next)) return GiveUpMove(pass, refused->close_why);
  if (job.move->state != MoveState::kAsked) return;
  if (job.move->waits && !AllHaveReported(pass, *next)) return;
  job.move->state = MoveState::kTold;
  pass.Changed("its nodes are told that it " + ByWhom(*job.move));
}

void Arrive(Pass& pass, const Attempt& attempt) {
  Job& job = pass.job();
  if (MoveUnderWay(job) == nullptr || IsLeft(job, attempt) || !Reports(pass, attempt)) return;
  job.offers = job.move->offers;
  job.move->offers.clear();
  job.move->state = MoveState::kArrived;
  pass.Changed("it has moved to " + job.move->to);
}

std::optional<Ending> MovedAway(const Pass& pass, const Attempt& attempt) {
  const Job& job = pass.out.job;
  if (!IsLeft(job, attempt) || attempt.running || AnyRuns(pass, attempt)) return std::nullopt;
  if (!IsToldToMove(job, attempt.number) && Reports(pass, attempt)) return std::nullopt;
  Ending ending;
  ending.reason = EndReason::kMoved;
  ending.why = "the job " + ByWhom(*job.move);
  return ending;
}

}  // namespace stoker::reconcile_internal
