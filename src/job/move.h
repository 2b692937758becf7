// SPDX-License-Identifier: Apache-2.0
// A move: its owner wants a job at another place. It stands in the record, and whoever looks goes
// on from there; src/reconcile/moves.cc has the rules. Plain data, and pure questions about it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "job/request.h"

namespace stoker {

struct Attempt;
struct Job;
struct Launch;

enum class MoveState {
  kAsked,     // machines are asked for there
  kTold,      // the nodes of the place that is left read this as a notice
  kArrived,   // an attempt has run there
  kGivingUp,  // its owner has thought better of it; whoever reconciles next undoes it
  kGivenUp,   // it is over, by its owner's will or because the place has refused
};

struct Move {
  MoveState state = MoveState::kAsked;
  int attempt = 0;  // attempts before this one are of the place that is left,
  int request = 0;  // and so are machines of requests before this one
  WallTime at;
  std::string by;
  std::string to;             // as its owner wrote it: "gcp/us-central1"
  Duration lead;              // from when a node reads of it
  bool waits = false;         // nobody is told before the new machines are there
  std::string why;            // with kGivingUp and kGivenUp
  std::vector<Offer> offers;  // how machines can be had there; none once it is over
};

// What a notice that comes of a move says that its platform does.
inline constexpr char kMoveAction[] = "move";

// The move of `job` that is not over; else null.
const Move* MoveUnderWay(const Job& job);
// It, or what was asked for by `launch`, is of the place that the job leaves.
bool IsLeft(const Job& job, const Attempt& attempt);
bool IsLeft(const Job& job, const Launch& launch);
// The nodes of `attempt` are to save and stop for the move.
bool IsToldToMove(const Job& job, int attempt);
// How the next machines can be had; empty: by its spec's provider.
const std::vector<Offer>& OffersNow(const Job& job);
// All of them, and those that it has had before the move.
std::vector<Offer> AllOffers(const Job& job);

// Writes into `job`, which has not ended, that it is to move; in place of any move before. `move`
// lacks state, attempt and request.
void AskToMove(Job& job, Move move);

std::string_view Name(MoveState state);

}  // namespace stoker
