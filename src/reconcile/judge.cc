// SPDX-License-Identifier: Apache-2.0
// Judging an end. A failing exit is provisional: a lost or interrupted peer makes the survivors'
// collectives fail seconds before anything else shows it. So a failure stops the whole attempt at
// once, and the verdict is made when every node has told how it ended.
#include "reconcile/pass.h"

namespace stoker::reconcile_internal {
namespace {

std::string NodeText(int rank) { return "node " + std::to_string(rank); }

Ending Make(EndReason reason, int rank, std::string why) {
  Ending ending;
  ending.reason = reason;
  ending.rank = rank;
  ending.why = std::move(why);
  return ending;
}

const Ending* EndOf(const Pass& pass, const Attempt& attempt, int rank) {
  const ReportSeen* report = pass.Report(attempt, rank);
  if (report == nullptr || report->report.phase != NodePhase::kEnded) return nullptr;
  return report->report.end ? &*report->report.end : nullptr;
}

bool CompletedAt(const Pass& pass, const Attempt& attempt, int rank) {
  const Ending* end = EndOf(pass, attempt, rank);
  return end != nullptr && end->reason == EndReason::kCompleted;
}

// What a closed launch says of the attempt it served.
Ending FromClosed(const Launch& launch, int rank) {
  const std::string why = NodeText(rank) + ": " + launch.close_why;
  if (launch.close_reason == "refused") return Make(EndReason::kLaunchRefused, rank, why);
  if (launch.close_reason == "interrupted") return Make(EndReason::kInterrupted, rank, why);
  return Make(EndReason::kNodeLost, rank, why);
}

// The first of the reasons that outrank a failing exit, over all nodes.
std::optional<Ending> TakenOrLost(const Pass& pass, const Attempt& attempt) {
  std::optional<Ending> lost;
  for (int rank = 0; rank < static_cast<int>(attempt.launches.size()); ++rank) {
    if (CompletedAt(pass, attempt, rank)) continue;
    const Launch* launch = FindLaunch(pass.out.job, attempt.launches[static_cast<size_t>(rank)]);
    std::optional<Ending> found;
    if (launch != nullptr && launch->closed) found = FromClosed(*launch, rank);
    const Ending* end = EndOf(pass, attempt, rank);
    if (end != nullptr && (end->reason == EndReason::kInterrupted ||
                           end->reason == EndReason::kNodeLost)) {
      found = *end;
      found->rank = rank;
    }
    if (!found) continue;
    if (found->reason != EndReason::kNodeLost) return found;
    if (!lost) lost = found;
  }
  return lost;
}

// The failing end that is most likely the cause: the lowest rank that was not told to stop.
std::optional<Ending> Failure(const Pass& pass, const Attempt& attempt) {
  std::optional<Ending> stopped;
  for (int rank = 0; rank < static_cast<int>(attempt.launches.size()); ++rank) {
    const Ending* end = EndOf(pass, attempt, rank);
    if (end == nullptr || end->reason == EndReason::kCompleted) continue;
    Ending found = *end;
    found.rank = rank;
    if (!pass.Report(attempt, rank)->report.stopped) return found;
    if (!stopped) stopped = found;
  }
  return stopped;
}

bool AllCompleted(const Pass& pass, const Attempt& attempt) {
  for (int rank = 0; rank < static_cast<int>(attempt.launches.size()); ++rank) {
    if (!CompletedAt(pass, attempt, rank)) return false;
  }
  return true;
}

bool PastDrain(const Pass& pass, const Attempt& attempt) {
  return attempt.drain_until && pass.seen.now > *attempt.drain_until + Duration::Seconds(60);
}

}  // namespace

std::optional<Ending> ReasonToStop(const Pass& pass, const Attempt& attempt) {
  if (AllCompleted(pass, attempt)) {
    return Make(EndReason::kCompleted, -1, "the program ended with exit code 0");
  }
  if (pass.out.job.cancel) {
    return Make(EndReason::kCancelled, -1, "cancelled by " + pass.out.job.cancel->by);
  }
  if (auto taken = TakenOrLost(pass, attempt)) return taken;
  if (auto failure = Failure(pass, attempt)) return failure;
  if (PastDrain(pass, attempt)) {
    return Make(EndReason::kInterrupted, -1, "a node's notice ran out and it has not reported since");
  }
  return std::nullopt;
}

bool AllStopped(const Pass& pass, const Attempt& attempt) {
  for (int rank = 0; rank < static_cast<int>(attempt.launches.size()); ++rank) {
    const Launch* launch = FindLaunch(pass.out.job, attempt.launches[static_cast<size_t>(rank)]);
    const bool gone = launch == nullptr || launch->closed;
    if (!gone && EndOf(pass, attempt, rank) == nullptr && !PastDrain(pass, attempt)) return false;
  }
  return true;
}

Ending FinalEnding(const Pass& pass, const Attempt& attempt) {
  if (AllCompleted(pass, attempt)) {
    return Make(EndReason::kCompleted, -1, "the program ended with exit code 0");
  }
  const Ending& provisional = *attempt.ending;
  switch (provisional.reason) {
    case EndReason::kCancelled:
    case EndReason::kLaunchRefused:
      return provisional;
    default:
      break;
  }
  if (auto taken = TakenOrLost(pass, attempt)) return *taken;
  if (auto failure = Failure(pass, attempt)) {
    // A node that was told to stop says how it stopped, not why: the reason to stop stands.
    const ReportSeen* report = pass.Report(attempt, failure->rank);
    return report != nullptr && report->report.stopped ? provisional : *failure;
  }
  return provisional;
}

}  // namespace stoker::reconcile_internal
