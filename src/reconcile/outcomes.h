// SPDX-License-Identifier: Apache-2.0
// What became of asking for machines, as it gets into the record: any observer goes on from there,
// also one that lives for a single pass. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "job/job.h"

namespace stoker {

// What became of one send. No refusal: the provider has taken it, for all its slots, or nobody
// knows.
struct SendOutcome {
  int request = 0;
  std::optional<Refusal> refusal;  // as the provider told it
};

// Writes the refusals, heard `at` the store's time, into those requests of which a launch is open.
// False: `job` is as it was. `judge`: who asked is the one that can be expected to be given the
// machine, if anybody is (the submitter, at its first send): its being denied the first machines
// of the job, or of its move, is final. Else it is the asker's own trouble: it may pass, and others
// may do better.
bool NoteOutcomes(Job& job, const std::vector<SendOutcome>& outcomes, WallTime at, bool judge);

// What became of one Start.
struct StartOutcome {
  std::string instance_id;
  std::optional<Refusal> refusal;
};

// Of one pass.
struct Outcomes {
  std::vector<SendOutcome> sends;
  std::vector<StartOutcome> starts;
};

// The same for those: into the open launches that have the machines.
bool NoteStarts(Job& job, const std::vector<StartOutcome>& outcomes, WallTime at);

// As it gets into the record that a machine of `request` died before it was up: a lasting answer
// that all can read, so that *denied* is final. The next request for the same waits for a minute,
// and up to eight where that has happened before.
Refusal LateRefusal(const Job& job, const Request& request, Refusal told, WallTime at);

// What is not yet consistent is asked for again after so long, for so long since that was first
// heard. Whoever hears it still then writes down that it is invalid.
inline constexpr Duration kConsistencyPause = Duration::Seconds(10);
inline constexpr Duration kConsistentWithin = Duration::Minutes(5);

// After the try number `tries` (from 1): nobody asks again sooner, unless it is whoever opened the
// request. A sender that dies between the record and the request costs so long.
Duration SendPause(int tries);

}  // namespace stoker
