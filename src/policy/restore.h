// SPDX-License-Identifier: Apache-2.0
// What an attempt begins from. Pure.
#pragma once

#include <string>
#include <vector>

#include "job/job.h"

namespace stoker {

// What one job has in the store, as an observer found it.
struct Generation {
  std::string job;                    // "" = the job that is to begin
  std::vector<std::string> whole;     // checkpoints, newest first
  std::vector<std::string> as_left;   // what its programs left, newest attempt first
  std::vector<std::string> suspects;  // as in its record; of the job itself, its record's count
  std::string from;                   // Job::from, likewise
};

// The job itself, the one that it goes on from, the one that that one went on from, and so on.
using Restorable = std::vector<Generation>;

// The checkpoint that the next attempt of `job` begins from, as Attempt::restore has it; "" = the
// beginning.
//   - The newest whole one: of the job itself, else of its nearest ancestor that has one.
//   - What the job was told to begin from (Job::from) comes before all that its ancestors have.
//   - As left only where neither the job nor an ancestor has a whole one, or when it was told to.
//   - Never what this job's own attempts found suspect. What an ancestor found suspect comes after
//     all others, and not at all after them for a job that was told where to begin: its code is
//     another.
std::string ChooseRestore(const Job& job, const Restorable& generations);

}  // namespace stoker
