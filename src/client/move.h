// SPDX-License-Identifier: Apache-2.0
// A job that is to go on at another place.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/status.h"
#include "base/time.h"
#include "client/open/client.h"
#include "job/job.h"
#include "policy/moving.h"

namespace stoker::client {

struct MoveWish {
  std::string job;                        // its id
  std::string infra;                      // where to, as in the job file
  Duration lead = Duration::Seconds(30);  // how long the notice lasts
  bool now = false;                       // not only when the new machines are up
  bool force = false;                     // also where it is there already
  bool outlive = false;                   // as SubmitRequest's
};

struct MoveAsked {
  Job job;  // with the move in its record, unless it is there
  std::string to;
  MoveAnswer answer = MoveAnswer::kThere;
};
// Resolves what the job asks for there, brings what machines of this computer need, and writes the
// move into the record. Refused before anything is written where it could not run there. Says
// nothing of the answer.
Result<MoveAsked> AskMove(Client& client, const MoveWish& wish);

// Looks after the job until an attempt runs there, or it stays: until then it may be that nobody
// else can ask for machines there. Says what happens, each thing once. nullopt: `leave` said so.
Result<std::optional<Job>> FollowMove(Client& client, const MoveAsked& asked,
                                      const std::function<bool()>& leave);
// One look instead, and what clouds say late: as the job is then.
Result<Job> LeaveMove(Client& client, const MoveAsked& asked);

// kInvalid where the move was given up: the job does not move.
Status CheckMoved(const Job& job);

}  // namespace stoker::client
