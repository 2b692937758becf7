// SPDX-License-Identifier: Apache-2.0
#include "policy/retry.h"

#include <algorithm>

#include "base/deliberate_bug.h"
#include "job/checkpoint_name.h"

namespace stoker {
namespace {

bool Progressed(const Attempt& attempt) { return !attempt.newest_checkpoint.empty(); }

EndReason Reason(const Attempt& attempt) {
  return attempt.ending ? attempt.ending->reason : EndReason::kInternal;
}

bool IsLoss(EndReason reason) {
  return reason == EndReason::kNodeLost || reason == EndReason::kNodeFault ||
         reason == EndReason::kInternal;
}

// True when a machine of the attempt never came: the market was empty, which says nothing about the
// machines or the program, however long it lasts.
bool NeverCame(const Job& job, const Attempt& attempt) {
  return std::any_of(attempt.launches.begin(), attempt.launches.end(), [&](int number) {
    const Launch* launch = FindLaunch(job, number);
    return launch != nullptr && launch->close_reason == CloseReason::kNeverCame;
  });
}

// True when the attempt says nothing about machines or program: it was interrupted, or never began
// (a notice that was withdrawn, no capacity).
bool Neutral(const Job& job, const Attempt& attempt) {
  const EndReason reason = Reason(attempt);
  return reason == EndReason::kInterrupted || reason == EndReason::kCancelled ||
         reason == EndReason::kMoved || attempt.noticed || NeverCame(job, attempt);
}

// A machine of it could not begin for an outage, which passes, however long it takes.
bool MetOutage(const Job& job, const Attempt& attempt) {
  if (BugIsOn("outage-is-a-loss")) return false;
  return std::any_of(attempt.launches.begin(), attempt.launches.end(), [&](int number) {
    const Launch* launch = FindLaunch(job, number);
    return launch != nullptr && launch->boot_outage;
  });
}

struct Losses {
  int all = 0;
  int of_outages = 0;
};

// Attempts at the end of the list, `ended` included, that were lost without notice or progress.
// Interruptions in between are the market's doing and neither count nor reset.
Losses LossesInARow(const Job& job, const Attempt& ended) {
  Losses losses;
  for (auto it = job.attempts.rbegin(); it != job.attempts.rend(); ++it) {
    if (it->number > ended.number) continue;
    if (Progressed(*it)) break;
    if (Neutral(job, *it)) continue;
    if (!IsLoss(Reason(*it))) break;
    ++losses.all;
    losses.of_outages += MetOutage(job, *it) ? 1 : 0;
  }
  return losses;
}

// Of those, the faults at the end of the list: machines that were merely lost say nothing about
// what the next one will meet.
int FaultsInARow(const Job& job, const Attempt& ended) {
  int faults = 0;
  for (auto it = job.attempts.rbegin(); it != job.attempts.rend(); ++it) {
    if (it->number > ended.number || Neutral(job, *it)) continue;
    if (Progressed(*it) || Reason(*it) != EndReason::kNodeFault) break;
    ++faults;
  }
  return faults;
}

constexpr Duration kLongestDelay = Duration::Minutes(5);
// Each machine that tries is paid for its minutes, and the number of them has no end.
constexpr Duration kLongestOfOutage = Duration::Hours(1);

// The first two retries are immediate: most losses are single accidents.
Duration LossDelay(int losses, Duration longest = kLongestDelay) {
  if (losses <= 2) return Duration{};
  return std::min(Duration::Seconds(1) * (1LL << std::min(losses - 3, 12)), longest);
}

AfterAttempt Finished(JobState state, const Ending& result, std::string why) {
  AfterAttempt after;
  after.state = state;
  after.result = result;
  after.why = std::move(why);
  return after;
}

AfterAttempt Retry(std::string why, Duration delay = {}) {
  AfterAttempt after;
  after.retry = true;
  after.delay = delay;
  after.why = std::move(why);
  return after;
}

AfterAttempt AfterLoss(const Job& job, const Attempt& ended, bool restore_failed) {
  if (restore_failed && !ended.restore.empty()) {
    AfterAttempt after = Retry("checkpoint " + ended.restore + " could not be restored");
    after.suspect = ended.restore;
    return after;
  }
  const Losses in_a_row = LossesInARow(job, ended);
  const int losses = in_a_row.all - in_a_row.of_outages;
  if (losses >= kMostLossesWithoutProgress || FaultsInARow(job, ended) >= kMostFaultsInARow) {
    Ending result = *ended.ending;
    result.reason = EndReason::kNoProgress;
    result.why = std::to_string(losses) +
                 " attempts in a row were lost without a new checkpoint; " +
                 "the last: " + result.why;
    return Finished(JobState::kFailed, result, "no progress");
  }
  if (MetOutage(job, ended)) {
    return Retry("the machine could not begin for an outage",
                 LossDelay(in_a_row.all, kLongestOfOutage));
  }
  return Retry("the node was lost, not the program's doing", LossDelay(in_a_row.all));
}

// True when, since the last progress, another attempt failed in the program from a checkpoint that
// was then stepped over: `ended` was the one attempt made from the checkpoint before.
bool SteppedOverOne(const Job& job, const Attempt& ended) {
  for (auto it = job.attempts.rbegin(); it != job.attempts.rend(); ++it) {
    if (it->number >= ended.number) continue;
    if (Progressed(*it)) return false;
    if (Reason(*it) != EndReason::kUserError || it->restore.empty()) continue;
    if (IsAsLeft(it->restore)) continue;
    const auto& suspects = job.suspects;
    if (std::find(suspects.begin(), suspects.end(), it->restore) != suspects.end()) return true;
  }
  return false;
}

AfterAttempt AfterUserError(const Job& job, const JobSpec& spec, const Attempt& ended) {
  const Ending& ending = *ended.ending;
  if (IsAsLeft(ended.restore) && !Progressed(ended)) {
    // It may have been half-written: that is no error of the program, and uses up none of its
    // restarts.
    AfterAttempt after = Retry("the program failed on what was left (" + ended.restore +
                               ") and saved no checkpoint: going back to what there is before it");
    after.suspect = ended.restore;
    return after;
  }
  const int code = ending.signal != 0 ? 128 + ending.signal : ending.exit_code;
  const auto& codes = spec.job_recovery.recover_on_exit_codes;
  if (std::find(codes.begin(), codes.end(), code) != codes.end()) {
    return Retry("exit code " + std::to_string(code) + " is in recover_on_exit_codes",
                 LossDelay(Progressed(ended) ? 0 : static_cast<int>(job.attempts.size())));
  }
  if (job.error_restarts < spec.job_recovery.max_restarts_on_errors) {
    AfterAttempt after = Retry("restart " + std::to_string(job.error_restarts + 1) + " of " +
                               std::to_string(spec.job_recovery.max_restarts_on_errors) +
                               " on errors (max_restarts_on_errors)");
    after.counts_as_error_restart = true;
    return after;
  }
  const bool nothing_new = !Progressed(ended);
  if (nothing_new && !ended.restore.empty()) {
    if (SteppedOverOne(job, ended)) {
      Ending result = ending;
      result.reason = EndReason::kNoProgress;
      result.why =
          "two attempts failed before a new checkpoint, from different checkpoints; the last: " +
          ending.why;
      return Finished(JobState::kFailed, result, "no progress");
    }
    AfterAttempt after = Retry("the program failed after restoring checkpoint " + ended.restore +
                               " and before a new one: trying the one before it");
    after.suspect = ended.restore;
    return after;
  }
  return Finished(JobState::kFailed, ending, "the program failed");
}

}  // namespace

bool WaitsOutOutage(const Job& job) {
  for (auto it = job.attempts.rbegin(); it != job.attempts.rend(); ++it) {
    if (it->state == AttemptState::kEnded && !it->not_needed) return MetOutage(job, *it);
  }
  return false;
}

AfterAttempt ChooseAfterAttempt(const Job& job, const JobSpec& spec, const Attempt& ended,
                                bool restore_failed) {
  switch (Reason(ended)) {
    case EndReason::kCompleted:
      return Finished(JobState::kSucceeded, *ended.ending, "the program ended with exit code 0");
    case EndReason::kCancelled:
      return Finished(JobState::kCancelled, *ended.ending, "cancelled");
    case EndReason::kTimedOut:
    case EndReason::kStoppedByRule:
    case EndReason::kNoProgress:
      return Finished(JobState::kFailed, *ended.ending, ended.ending->why);
    case EndReason::kLaunchRefused:
      // There are other ways: from the place that is left to the new one, or back.
      if (MoveUnderWay(job) != nullptr) return Retry("the job moves");
      return Finished(JobState::kFailed, *ended.ending, ended.ending->why);
    case EndReason::kInterrupted:
      return Retry("the machine was taken");
    case EndReason::kMoved:
      if (BugIsOn("move-counts-as-failure")) return AfterUserError(job, spec, ended);
      return Retry("the job moves");
    case EndReason::kNodeLost:
    case EndReason::kNodeFault:
    case EndReason::kInternal:
    case EndReason::kNone:
      return AfterLoss(job, ended, restore_failed);
    case EndReason::kUserError:
      return AfterUserError(job, spec, ended);
  }
  return AfterLoss(job, ended, restore_failed);
}

}  // namespace stoker
