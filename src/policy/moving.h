// SPDX-License-Identifier: Apache-2.0
// What `stoker move` makes of a job's record. Pure: decided again on what is read whenever somebody
// else has written meanwhile.
#pragma once

#include <set>
#include <string>

#include "job/job.h"

namespace stoker {

enum class MoveAnswer {
  kAsked,     // it stands in the record now
  kOnItsWay,  // it goes there already
  kThere,     // it is there
  kGivesUp,   // it is still there: the move to another place is given up
};

struct MoveWish {
  Move move;           // lacks what AskToMove fills in, and `waits`
  bool now = false;    // its nodes are told at once
  bool force = false;  // fresh machines also where it is there already
  // Of other providers than this machine's: whose machines may be this very computer.
  std::set<std::string> beside_here{};
};

// Changes `job`, which has not ended, with kAsked and kGivesUp only. Nodes are told at once, too,
// where old and new machines may be of one quota, one queue or one computer: the new ones might
// wait for the old to go.
MoveAnswer ProposeMove(const MoveWish& wish, Job& job);

}  // namespace stoker
