// SPDX-License-Identifier: Apache-2.0
// Judging an end. A failing exit is provisional: a lost or interrupted peer makes the survivors'
// collectives fail seconds before anything else shows it. So a failure stops the whole attempt at
// once, and the verdict is made when every node has told how it ended.
#include <algorithm>

#include "base/deliberate_bug.h"
#include "policy/boots.h"
#include "policy/drain.h"
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

// A node whose notice has run out without an end from it: its platform has taken it by now, or has
// changed its mind while the node could not reach the store to say so.
bool Departed(const Pass& pass, const Attempt& attempt, int rank) {
  if (pass.EndOf(attempt, rank) != nullptr) return false;
  const Notice* notice = pass.NoticeOn(attempt, rank);
  // Nobody takes the machine of a job that moves.
  if (notice != nullptr && notice->action == kMoveAction) return false;
  return notice != nullptr && pass.seen.now > notice->until + kDrainSlack;
}

// What became of a node that has not told its end itself, as far as its launch says.
std::optional<Ending> FromLaunch(const Pass& pass, const Attempt& attempt, int rank) {
  const Launch* launch = FindLaunch(pass.out.job, attempt.launches[static_cast<size_t>(rank)]);
  if (launch == nullptr) {
    return Make(EndReason::kInternal, rank, NodeText(rank) + ": its launch is not in the record");
  }
  if (launch->closed) {
    const std::string why = NodeText(rank) + ": " + launch->close_why;
    if (launch->close_reason == CloseReason::kRefused)
      return Make(EndReason::kLaunchRefused, rank, why);
    if (launch->close_reason == CloseReason::kInterrupted)
      return Make(EndReason::kInterrupted, rank, why);
    // Given up because the attempt was ending already: says nothing about why it ended. Where it
    // ran, its node had told that: what cannot be read may be the loss that the others failed of.
    const bool unread = attempt.running && pass.Report(attempt, rank) == nullptr;
    const bool needless = launch->close_reason == CloseReason::kSuperseded ||
                          launch->close_reason == CloseReason::kMoved;
    if (needless && !unread) return std::nullopt;
    return Make(EndReason::kNodeLost, rank, why);
  }
  if (Restarts(pass, *launch) && launch->stopped_since && IsOff(pass, *launch)) {
    return Make(EndReason::kNodeLost, rank, NodeText(rank) + ": its machine was stopped");
  }
  if (Departed(pass, attempt, rank)) {
    return Make(EndReason::kInterrupted, rank,
                NodeText(rank) + ": its notice ran out and it has not reported since");
  }
  return std::nullopt;
}

// The first of the reasons that outrank a failing exit, over all nodes. A node that has told its
// end is taken at its word: what becomes of its machine afterwards does not change it.
std::optional<Ending> TakenOrLost(const Pass& pass, const Attempt& attempt) {
  std::optional<Ending> lost;
  for (int rank = 0; rank < NumNodes(attempt); ++rank) {
    std::optional<Ending> found;
    const Ending* end = pass.JudgedEnd(attempt, rank);
    // Completed is a promise that everything is uploaded: only Ended makes it.
    if (end == nullptr ||
        (end->reason == EndReason::kCompleted && !pass.CompletedAt(attempt, rank))) {
      found = FromLaunch(pass, attempt, rank);
    } else if (end->reason == EndReason::kInterrupted || end->reason == EndReason::kNodeLost ||
               end->reason == EndReason::kMoved) {
      found = *end;
      found->rank = rank;
    }
    if (!found) continue;
    if (found->reason != EndReason::kNodeLost) return found;
    if (!lost) lost = found;
  }
  return lost;
}

// A node whose program was stopped by a limit: our own doing, and the peers fail of it.
std::optional<Ending> Limited(const Pass& pass, const Attempt& attempt) {
  for (int rank = 0; rank < NumNodes(attempt); ++rank) {
    const Ending* end = pass.JudgedEnd(attempt, rank);
    if (end == nullptr ||
        (end->reason != EndReason::kTimedOut && end->reason != EndReason::kStoppedByRule)) {
      continue;
    }
    Ending found = *end;
    found.rank = rank;
    return found;
  }
  return std::nullopt;
}

// The failing end that is most likely the cause: of the nodes that were not told to stop, one that
// ran out of memory (its peers fail of its absence), else the lowest rank.
std::optional<Ending> Failure(const Pass& pass, const Attempt& attempt) {
  std::optional<Ending> first;
  std::optional<Ending> stopped;
  for (int rank = 0; rank < NumNodes(attempt); ++rank) {
    const Ending* end = pass.JudgedEnd(attempt, rank);
    if (end == nullptr || end->reason == EndReason::kCompleted) continue;
    Ending found = *end;
    found.rank = rank;
    if (pass.Report(attempt, rank)->report.stopped) {
      if (!stopped) stopped = found;
      continue;
    }
    if (found.out_of_memory) return found;
    if (!first) first = found;
  }
  return first ? first : stopped;
}

bool AllCompleted(const Pass& pass, const Attempt& attempt) {
  for (int rank = 0; rank < NumNodes(attempt); ++rank) {
    if (!pass.CompletedAt(attempt, rank)) return false;
  }
  return true;
}

// What looked like a loss was this failure, reported before the node was given up. Other failures,
// and later ones, may be our own doing: peers were told to stop. So may that of a node that was
// given up for its notice alone, which closes no launch: nobody wrote down when that was.
bool WasTheLoss(const Pass& pass, const Attempt& attempt, const Ending& failure) {
  if (failure.rank != attempt.ending->rank) return false;
  const ReportSeen* report = pass.Report(attempt, failure.rank);
  if (report->report.stopped) return false;
  const auto number = attempt.launches[static_cast<size_t>(failure.rank)];
  const Launch* launch = FindLaunch(pass.before, number);
  // A store's clock may tell whole seconds only: of the same second is too late.
  return launch != nullptr && launch->closed_at && pass.seen.now - report->age < *launch->closed_at;
}

// True when the program of `rank` runs no more, and nothing of it can still be committed.
bool Stopped(const Pass& pass, const Attempt& attempt, int rank) {
  if (pass.EndOf(attempt, rank) != nullptr) return true;
  const int number = attempt.launches[static_cast<size_t>(rank)];
  // Closed in this very pass is too early: the node's last report may have been written after the
  // reports were read. The next pass, which reads them again, knows all that there will ever be.
  const Launch* launch = FindLaunch(pass.before, number);
  if (launch == nullptr) return FindLaunch(pass.out.job, number) == nullptr;
  if (!launch->closed && !Departed(pass, attempt, rank)) return false;
  if (launch->closed && BugIsOn("closed-is-gone")) return true;
  if (!launch->closed && BugIsOn("departed-is-gone")) return true;
  // A closed launch stops a node only when the node reads it: a silent one may still be training
  // (no-fork). Its machine must be seen to be gone.
  if (const MachineSeen* machine = pass.Machine(number))
    return machine->state == MachineState::kGone && !HasLivingTwin(pass, *launch, *machine) &&
           !MayHaveTwin(pass, *launch, *machine);
  // Unless a first report crossed that: its node may have begun before it could read it.
  const bool came = pass.NewestReport(number) != nullptr;
  if (!came && (launch->close_reason == CloseReason::kRefused ||
                launch->close_reason == CloseReason::kNeverCame)) {
    return true;
  }
  if (IsUnheardSinceCancel(pass, *launch)) return true;
  return HasBegun(pass, *launch) ? IsSeenToBeAbsent(pass, number) : pass.Place(*launch).known;
}

// What has been kept lies in the store for the whole job: one node that has it is enough.
bool Misses(const Pass& pass, const Attempt& attempt, const std::string& output) {
  for (int rank = 0; rank < NumNodes(attempt); ++rank) {
    const ReportSeen* report = pass.Report(attempt, rank);
    if (report == nullptr) return false;
    const auto& missing = report->report.missing_outputs;
    if (std::find(missing.begin(), missing.end(), output) == missing.end()) return false;
  }
  return true;
}

// Files came that are in no store: what is missing may be among them.
bool Unkept(const Pass& pass, const Attempt& attempt) {
  for (int rank = 0; rank < NumNodes(attempt); ++rank) {
    const ReportSeen* report = pass.Report(attempt, rank);
    if (report != nullptr && report->report.unkept > 0) return true;
  }
  return false;
}

// All nodes have completed; a job that leaves out what it must leave behind has failed even so.
Ending Completed(const Pass& pass, const Attempt& attempt) {
  for (const OutputSpec& output : pass.spec.outputs) {
    if (!output.required || !Misses(pass, attempt, output.path)) continue;
    return Make(EndReason::kUserError, -1,
                "the program ended with exit code 0, but the required output '" + output.path +
                    (Unkept(pass, attempt) ? "' was not kept" : "' never came"));
  }
  return Make(EndReason::kCompleted, -1, "the program ended with exit code 0");
}

}  // namespace

std::vector<std::string> MissingOutputs(const Pass& pass, const Attempt& attempt) {
  std::vector<std::string> missing;
  for (const OutputSpec& output : pass.spec.outputs) {
    if (Misses(pass, attempt, output.path)) missing.push_back(output.path);
  }
  return missing;
}

std::optional<Ending> ReasonToStop(const Pass& pass, const Attempt& attempt) {
  if (AllCompleted(pass, attempt)) return Completed(pass, attempt);
  if (pass.out.job.cancel && !BugIsOn("cancel-forgotten")) {
    return Make(EndReason::kCancelled, -1, "cancelled by " + pass.out.job.cancel->by);
  }
  if (auto moved = MovedAway(pass, attempt)) return moved;
  if (const std::string why = WhyBootsFail(pass.out.job, OffersOf(pass)); !why.empty()) {
    return Make(EndReason::kNoProgress, -1, why);
  }
  if (auto taken = TakenOrLost(pass, attempt)) return taken;
  if (auto limited = Limited(pass, attempt)) return limited;
  return Failure(pass, attempt);
}

bool AllStopped(const Pass& pass, const Attempt& attempt) {
  for (int rank = 0; rank < NumNodes(attempt); ++rank) {
    if (!Stopped(pass, attempt, rank)) return false;
  }
  return true;
}

Ending FinalEnding(const Pass& pass, const Attempt& attempt) {
  if (AllCompleted(pass, attempt)) return Completed(pass, attempt);
  const Ending& provisional = *attempt.ending;
  if (provisional.reason == EndReason::kNoProgress || provisional.reason == EndReason::kCancelled ||
      provisional.reason == EndReason::kLaunchRefused || provisional.reason == EndReason::kMoved) {
    return provisional;
  }
  if (provisional.reason == EndReason::kUserError && BugIsOn("error-before-peers")) {
    return provisional;
  }
  if (auto taken = TakenOrLost(pass, attempt)) return *taken;
  if (auto limited = Limited(pass, attempt)) return *limited;
  // The failure that was seen first is the likeliest cause of those that followed; and a node that
  // was told to stop says how it stopped, not why. So the reason to stop stands, unless it was a
  // loss that has turned out to be none.
  if (provisional.reason != EndReason::kNodeLost && provisional.reason != EndReason::kInterrupted) {
    return provisional;
  }
  auto failure = Failure(pass, attempt);
  return failure && WasTheLoss(pass, attempt, *failure) ? *failure : provisional;
}

}  // namespace stoker::reconcile_internal
