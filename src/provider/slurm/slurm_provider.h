// SPDX-License-Identifier: Apache-2.0
// Machines of a cluster that Slurm runs: one job of Slurm a request, as many nodes as it has
// launches. Slurm's own programs are asked, and the folders of slurm_folder.h say what they forget.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "port/clock.h"
#include "port/provider.h"

namespace stoker {

inline constexpr char kSlurmProvider[] = "slurm";

struct SlurmOptions {
  std::string state_dir;  // on a disk that all nodes see
  std::string login;      // a host for ssh where Slurm's programs are; "" = this machine
  // The stoker that nodes run when "<state>/bin/<binary_digest>/stoker" is not there; "" = none
  // does, and that is refused.
  std::string binary;
  // So long an answer of squeue may be old: at least, and when nothing has changed for long.
  Duration look_least = Duration::Seconds(1);
  Duration look_most = Duration::Seconds(10);
};

// Thread-safe; any number of processes, on any nodes, may use one state folder. Instances are
// called "<job of Slurm>.<node>". Describe of a job that nothing was asked for from this state
// folder, and that was not submitted from it, is kUnavailable: they may be another user's.
Result<std::unique_ptr<Provider>> MakeSlurmProvider(const SlurmOptions& options, Clock& clock);

}  // namespace stoker
