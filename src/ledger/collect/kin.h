// SPDX-License-Identifier: Apache-2.0
// Which jobs others may still begin from. Pure.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "job/job.h"
#include "ledger/summary.h"

namespace stoker {

// What matters of one job for that.
struct Kin {
  std::string retry_of;
  // Whose checkpoints it was told to begin from, was promised, or has begun from: ids.
  std::vector<std::string> named;
  std::vector<std::string> saves;     // the newest of each attempt that saved: "1-8"
  std::vector<std::string> suspects;  // Job::suspects
  bool ended = false;
  bool succeeded = false;
};
Kin KinOf(const Job& job);
// Of a job whose record cannot be read now, as the index has it: it has ended. What it saved may be
// suspect, so it counts as if it had not saved.
Kin KinOf(const Summary& job);

// By id.
using Kinship = std::map<std::string, Kin>;

// Jobs that one which is not in `going` may begin from, each with such a one. A job may begin from
// all that it goes on from, as far as the first that has saved something which nobody on the way
// found suspect, and at least as far as what it was promised; one that has saved such itself and
// has ended, or is done, needs none of them. Never further than ReadAncestors looks.
std::map<std::string, std::string> NeededBy(const Kinship& all, const std::set<std::string>& going);

}  // namespace stoker
