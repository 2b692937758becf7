// SPDX-License-Identifier: Apache-2.0
// What follows an attempt that has ended: another attempt, or the end of the job. Pure.
#pragma once

#include <string>

#include "job/job.h"
#include "spec/job_spec.h"

namespace stoker {

struct AfterAttempt {
  bool retry = false;
  bool counts_as_error_restart = false;  // uses one of max_restarts_on_errors
  std::string suspect;                   // checkpoint id not to restore again; "" = none
  Duration delay;                        // before the next attempt may begin
  JobState state = JobState::kFailed;    // when not retried
  Ending result;                         // when not retried
  std::string why;                       // the reason for the choice, for people
};

// `ended` is the last attempt of `job` and has its Ending; `restore_failed` = a node reported that
// the checkpoint itself could not be restored.
AfterAttempt ChooseAfterAttempt(const Job& job, const JobSpec& spec, const Attempt& ended,
                                bool restore_failed);

// Losses in a row, without a notice and without a new checkpoint, after which a job is NoProgress;
// machines that could not begin for an outage do not count.
inline constexpr int kMostLossesWithoutProgress = 20;
// The same where all of them were faults that a node reported itself (its disk, its setup): the
// next machine is likely to meet it too.
inline constexpr int kMostFaultsInARow = 5;

// The newest attempt that is over had a machine that could not begin for an outage: the next is not
// asked for before Job::retry_after.
bool WaitsOutOutage(const Job& job);

}  // namespace stoker
