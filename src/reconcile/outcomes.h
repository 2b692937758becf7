// SPDX-License-Identifier: Apache-2.0
// What became of asking for machines, as it gets into the record: any observer goes on from there,
// also one that lives for a single pass. Pure.
#pragma once

#include <optional>
#include <vector>

#include "base/status.h"
#include "job/job.h"

namespace stoker {

// What became of one send. Ok: the provider has taken it, for all its slots.
struct SendOutcome {
  int request = 0;
  Status status;
};

// What an answer says, `at` the store's time. Unset: nothing that would count, as it may have taken
// effect all the same. `judge`: who asked is the one that can be expected to be given the machine,
// if anybody is (the submitter, at its first send): its being denied is final. Else it is the
// asker's own trouble, and others may do better.
std::optional<Refusal> RefusalOf(const Status& status, WallTime at, bool judge);

// Writes the refusals into those requests of which a launch is open. False: `job` is as it was.
bool NoteOutcomes(Job& job, const std::vector<SendOutcome>& outcomes, WallTime at, bool judge);

// After the try number `tries` (from 1): nobody asks again sooner, unless it is whoever opened the
// request. A sender that dies between the record and the request costs so long.
Duration SendPause(int tries);

}  // namespace stoker
