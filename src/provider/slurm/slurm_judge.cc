// SPDX-License-Identifier: Apache-2.0
#include "provider/slurm/slurm_judge.h"

#include <algorithm>

#include "base/text.h"

namespace stoker {
namespace {

// As wait(2) has it: what the batch script ends with where it does not see stoker (slurm_job.cc),
// and what slurmd says where it cannot open the script's output, "0:53".
constexpr int kScriptSeesNothing = 65 << 8;
constexpr int kNoOutput = 53;

constexpr Duration kAtOnce = Duration::Seconds(2);
// After its controller began. Another one that it forgot may have been of any user.
constexpr Duration kNumbersAgain = Duration::Hours(1);

EndedBy EnderOf(SlurmEnder by) {
  if (by == SlurmEnder::kOwner) return EndedBy::kOwner;
  return by == SlurmEnder::kPlatform ? EndedBy::kPlatform : EndedBy::kUnknown;
}

SlurmVerdict IsGone(const SlurmEnd& end) {
  SlurmVerdict verdict;
  verdict.there = true;
  verdict.state = InstanceState::kGone;
  verdict.why = end.why;
  verdict.ended_by = EnderOf(end.by);
  verdict.end = end;
  return verdict;
}

SlurmVerdict Stands(InstanceState state, std::string why = "") {
  SlurmVerdict verdict;
  verdict.there = true;
  verdict.state = state;
  verdict.why = std::move(why);
  return verdict;
}

// Until Slurm kills what is left, its nodes keep what the program saves.
SlurmVerdict EndedByOwner(const SlurmEnd& end) {
  SlurmVerdict verdict = IsGone(end);
  verdict.state = InstanceState::kStopping;
  return verdict;
}

bool IsWaiting(const SlurmJobSeen& row) {
  for (const char* state :
       {"PENDING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "SPECIAL_EXIT", "RESV_DEL_HOLD"}) {
    if (row.Has(state)) return true;
  }
  return false;
}

// A controller that died gives numbers again. What the first job of a number still does on a node
// may end the second, or the node does not begin that beside it.
SlurmEnd NumberedTwice(const SlurmJobSeen& row) {
  return {SlurmEnder::kPlatform, "Slurm gave the number " + std::to_string(row.job) +
                                     " twice, and ended the second job as it began"};
}

bool IsRefusedByNodes(const SlurmFound& found) {
  return MayBeRefusedByNodes(found) && found.controller.ms > 0 &&
         found.row->started >= found.controller &&
         found.row->started - found.controller < kNumbersAgain;
}

// It ended, and its batch script has not begun: no machine of it was ever up.
SlurmVerdict NeverBegan(const SlurmFound& found) {
  const SlurmJobSeen& row = *found.row;
  const bool cancelled = row.Has("CANCELLED");
  const bool twice = cancelled && (found.traces.again || IsRefusedByNodes(found));
  if (cancelled && !twice) {
    return IsGone({SlurmEnder::kOwner, SlurmEndInWords(row) + " before it began"});
  }
  const std::string why = twice ? NumberedTwice(row).why : SlurmEndInWords(row);
  SlurmVerdict verdict = IsGone({SlurmEnder::kPlatform, why});
  Refusal refusal;
  refusal.scope = twice ? RefusalScope::kRequest : RefusalScope::kZone;
  refusal.message = why;
  // All else is a node's bad moment: another, or the same one later, may be better.
  if (row.Has("FAILED") &&
      (row.exit_code == kScriptSeesNothing || (row.exit_code & 0x7f) == kNoOutput)) {
    refusal.what = RefusalClass::kInvalid;
    refusal.scope = RefusalScope::kRequest;
    refusal.message = "Slurm's job " + std::to_string(row.job) + " could not begin on " +
                      (row.nodes.empty() ? "its nodes" : row.nodes) +
                      "; they must see the state folder of whoever submits";
  }
  // What sbatch refuses for want of such a node stays listed as a job that has failed.
  if (row.Has("FAILED") && row.reason == "BadConstraints") {
    refusal.what = RefusalClass::kInvalid;
    refusal.scope = RefusalScope::kRequest;
    refusal.message = "Slurm: Requested node configuration is not available (job " +
                      std::to_string(row.job) + ": BadConstraints)";
  }
  verdict.refusal = refusal;
  return verdict;
}

// A controller that dies forgets that it has begun a job, ends what runs of it by SIGKILL when its
// nodes tell of that, and begins it once more: as no restart, and neither that nor how it ends,
// "CANCELLED" where the nodes are not ready for it, is anybody's doing.
bool HasBegunAnew(const SlurmJobSeen& row, WallTime begun) {
  return begun.ms > 0 && row.started > begun && !IsWaiting(row);
}

SlurmEnd BegunAnew(const SlurmJobSeen& row) {
  return {SlurmEnder::kPlatform, "Slurm's controller lost job " + std::to_string(row.job) +
                                     " and began it anew: stoker goes on in a new one"};
}

SlurmVerdict OfRow(const SlurmFound& found) {
  const SlurmJobSeen& row = *found.row;
  const std::string number = "Slurm's job " + std::to_string(row.job);
  const bool waits_again = IsWaiting(row) && found.started == row.job;
  if (waits_again && found.behind) return Stands(InstanceState::kBooting);
  if (HasBegunAnew(row, found.traces.begun)) return IsGone(found.end.value_or(BegunAnew(row)));
  const bool requeued = row.restarts > 0 || waits_again;
  if (requeued) {
    return IsGone({SlurmEnder::kPlatform, number + " was requeued: stoker goes on in a new one"});
  }
  if (row.Ended()) {
    if (found.end) return IsGone(*found.end);
    if (found.started == 0) return NeverBegan(found);
    if (IsRefusedByNodes(found)) return IsGone(BegunAnew(row));
    return IsGone(WhoEndedSlurmJob(row, found.traces)
                      .value_or(SlurmEnd{SlurmEnder::kSelf, SlurmEndInWords(row)}));
  }
  if (row.Has("COMPLETING")) {
    if (!found.end && found.started != 0) {
      const auto who = WhoEndedSlurmJob(row, found.traces);
      if (who && who->by == SlurmEnder::kOwner) return EndedByOwner(*who);
    }
    if (found.end && found.end->by == SlurmEnder::kOwner) return EndedByOwner(*found.end);
    return Stands(InstanceState::kStopping, SlurmEndInWords(row));
  }
  if (found.end) {
    if (found.end->by == SlurmEnder::kOwner) return EndedByOwner(*found.end);
    return Stands(InstanceState::kStopping, found.end->why);
  }
  if (IsWaiting(row)) return Stands(InstanceState::kQueued, SlurmReasonInWords(row.reason));
  if (row.Has("SUSPENDED") || row.Has("STOPPED")) {
    return Stands(InstanceState::kStopped, number + " is suspended");
  }
  // Its nodes are being made ready, or its script has not begun yet.
  if (row.Has("CONFIGURING") || found.started == 0) return Stands(InstanceState::kBooting);
  return Stands(InstanceState::kRunning);
}

}  // namespace

SlurmFound FindSlurmJob(const std::vector<SlurmJobSeen>& rows, int64_t started, int64_t kept) {
  SlurmFound found;
  found.started = started;
  found.kept = kept;
  const auto take = [&](const auto& fits) {
    for (const SlurmJobSeen& row : rows) {
      const bool earlier = found.job == 0 || row.job < found.job;
      if (!fits(row) || !earlier) continue;
      found.job = row.job;
      found.row = row;
    }
  };
  if (started != 0) {
    take([&](const SlurmJobSeen& row) { return row.job == started; });
  } else {
    take([](const SlurmJobSeen& row) { return !row.Ended(); });
    if (found.job == 0) take([](const SlurmJobSeen&) { return true; });
  }
  if (found.job == 0) found.job = started != 0 ? started : kept;
  if (found.row && !found.row->Ended()) found.live = found.job;
  return found;
}

std::optional<SlurmEnd> WhoEndedSlurmJob(const SlurmJobSeen& seen, const SlurmTraces& traces) {
  if (HasBegunAnew(seen, traces.begun)) return BegunAnew(seen);
  if (seen.restarts > 0) {
    return SlurmEnd{SlurmEnder::kPlatform, "Slurm's job " + std::to_string(seen.job) +
                                               " was requeued: stoker goes on in a new one"};
  }
  const std::string why = SlurmEndInWords(seen);
  const bool taken = seen.preempted || seen.Has("PREEMPTED") || seen.Has("TIMEOUT") ||
                     seen.reason == "TimeLimit" || seen.Has("DEADLINE");
  if (taken) return SlurmEnd{SlurmEnder::kPlatform, why};
  const bool failed = seen.Has("NODE_FAIL") || StartsWith(seen.reason, "NodeDown") ||
                      seen.Has("BOOT_FAIL") || seen.Has("OUT_OF_MEMORY") || seen.Has("FAILED") ||
                      seen.Has("COMPLETED") || seen.exit_code != 0;
  if (seen.Has("CANCELLED")) return SlurmEnd{SlurmEnder::kOwner, why};
  // Before 23.02 a job that is completing says that alone. It began, no node of it has left it, and
  // it is not Slurm's own doing: that leaves scancel. Once its script has left by itself, it says
  // so, too, after whatever end; and when another one of its number, which Slurm has forgotten,
  // ends.
  const bool hidden = seen.states.size() == 1 && seen.Has("COMPLETING") && !failed;
  if (hidden && !traces.left && !traces.again && seen.reason.empty()) {
    return SlurmEnd{SlurmEnder::kOwner,
                    "Slurm's job " + std::to_string(seen.job) + ": it was cancelled"};
  }
  return std::nullopt;
}

bool MayBeRefusedByNodes(const SlurmFound& found) {
  if (!found.row || found.end || found.traces.begun.ms > 0) return false;
  const SlurmJobSeen& row = *found.row;
  return row.Has("CANCELLED") && row.Ended() && !row.nodes.empty() && row.started.ms > 0 &&
         row.ends - row.started <= kAtOnce;
}

SlurmVerdict JudgeSlurmJob(const SlurmFound& found) {
  if (found.row) return OfRow(found);
  const std::string number = "Slurm's job " + std::to_string(found.job);
  if (found.end) return IsGone(*found.end);
  if (found.behind && found.job != 0) return Stands(InstanceState::kRequested);
  if (found.started != 0) {
    return IsGone({SlurmEnder::kSelf, number + ": Slurm does not know it any more"});
  }
  if (found.sending) return Stands(InstanceState::kRequested);
  if (found.kept != 0 && found.young) {
    // A controller that dies forgets what it was given in its last seconds. A job that somebody
    // took out of the queue would still be listed as cancelled.
    SlurmVerdict lost = IsGone({SlurmEnder::kPlatform, number + ": Slurm has lost it"});
    lost.refusal.emplace();
    lost.refusal->scope = RefusalScope::kRequest;
    lost.refusal->message = number + ": Slurm has lost it before it began";
    return lost;
  }
  if (found.kept != 0) {
    // It waited, and whoever waits leaves Slurm's queue only when somebody takes it out.
    return IsGone({SlurmEnder::kOwner, number + " has left Slurm's queue without having begun"});
  }
  return {};
}

}  // namespace stoker
