// SPDX-License-Identifier: Apache-2.0
// A job on this machine whose submitter runs inside an allocation of Slurm that is not stoker's
// own: a batch script that said `stoker run`. What is inside goes with the allocation.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "base/time.h"
#include "port/allocation.h"
#include "provider/slurm/slurm_queue.h"
#include "provider/slurm/slurm_tools.h"

namespace stoker {

std::string AllocationName(int64_t job);  // "Slurm's job 12"

// `of` is neither looked at nor set.
std::string EncodeTie(const AllocationTie& tie);  // words
std::optional<AllocationTie> ParseTie(std::string_view options);

// Of a process.
struct SlurmInside {
  int64_t job = 0;
  // slurmstepd of the step that it descends from, and when it began, in ticks of this boot. With
  // its end the step is over. 0 = it cannot be seen.
  int stepd = 0;
  uint64_t stepd_began = 0;
  // "": all processes between slurmstepd and this one wait at SIGTERM; else the command of the
  // step, which ends of it, and Slurm may then kill what the step has begun at once.
  std::string dies_first;
};
// The allocation that /proc/PID/cgroup tells of; nullopt: of none.
std::optional<int64_t> SlurmJobOfCgroup(std::string_view content);
// What this process itself is inside of: by its cgroup, else by the slurmstepd that it descends
// from. A variable alone says nothing: a terminal keeps it for long after.
std::optional<SlurmInside> SlurmInsideHere();
// Is this process in a cgroup of that allocation's, so that Slurm signals and ends it itself?
bool IsHeldBySlurm(int64_t job);
bool StepLives(int stepd, uint64_t began);

enum class AllocationState { kRuns, kEnds, kOver };
struct AllocationSeen {
  AllocationState state = AllocationState::kRuns;
  std::string why;  // "Slurm's job 5: its time limit was over"; "" = it runs
  // Of one that ends: what is inside may go on until then; 0 = Slurm has signalled it by now.
  WallTime until;
  WallTime near;  // of one that runs: when it ends, as its time limit is near; 0 = never
};
// `row`: what Slurm says of it; nullopt: it does not know it any more. A minute before its time
// limit, or a quarter of it, it counts as one that ends: a script that ends at once at Slurm's
// signal would take what is inside with it before that has saved. Pure.
AllocationSeen JudgeAllocation(int64_t job, const std::optional<SlurmJobSeen>& row, WallTime now);
// Errors: those of SlurmTools::Row.
Result<AllocationSeen> AskAllocation(SlurmTools& tools, int64_t job, WallTime now, Duration limit);

// May whoever looks after the tied job launch a machine here, now? `inside`: it is in that
// allocation itself. Pure. kUnavailable: not now or not from here; kInvalid: never again.
Status MayLaunchTied(const AllocationTie& tie, bool inside, const Result<AllocationSeen>& seen);

}  // namespace stoker
