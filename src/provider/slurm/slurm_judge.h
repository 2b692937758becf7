// SPDX-License-Identifier: Apache-2.0
// What became of a request's job, out of what Slurm says of it and what its folder remembers. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "job/ended_by.h"
#include "port/provider.h"
#include "provider/slurm/slurm_folder.h"
#include "provider/slurm/slurm_queue.h"

namespace stoker {

struct SlurmFound {
  int64_t job = 0;   // that counts: it began, else it is the first of those that have not ended
  int64_t live = 0;  // the same, if it has not ended
  std::optional<SlurmJobSeen> row;  // what squeue says of it
  int64_t started = 0;              // the job that wrote so into the folder
  int64_t kept = 0;                 // the job that the folder knows
  std::optional<SlurmEnd> end;
  SlurmTraces traces;
  bool sending = false;
  // Slurm was asked before the folder learnt the last of this, or in the same moment: that it shows
  // no job, or one that waits, says nothing yet.
  bool behind = false;
  // The folder has known the job for less than Slurm remembers those that have ended.
  bool young = false;
  // When Slurm's controller began; 0 = not asked.
  WallTime controller;
  size_t nodes = 0;

  // Nothing may be sent (again).
  bool IsOver() const { return end || started != 0 || kept != 0 || job != 0; }
};

// `rows`: of the request's token alone.
SlurmFound FindSlurmJob(const std::vector<SlurmJobSeen>& rows, int64_t started, int64_t kept);

struct SlurmVerdict {
  bool there = false;  // else there is no machine
  InstanceState state = InstanceState::kRequested;
  std::string why;
  EndedBy ended_by = EndedBy::kUnknown;
  std::optional<Refusal> refusal;
  std::optional<SlurmEnd> end;  // to be kept, as Slurm will forget it
};

// slurmd itself cancels a job that a node refuses to begin, and squeue tells it from a scancel as
// little as from when the controller began, which is to be asked then.
bool MayBeRefusedByNodes(const SlurmFound& found);

SlurmVerdict JudgeSlurmJob(const SlurmFound& found);

// Of a job that began and is being ended, or has ended, and that stoker has not ended itself: by
// whom. nullopt: nobody can tell (yet).
std::optional<SlurmEnd> WhoEndedSlurmJob(const SlurmJobSeen& seen, const SlurmTraces& traces);

}  // namespace stoker
