// SPDX-License-Identifier: Apache-2.0
// What a cluster's partitions have and what of it is free, out of what sinfo and squeue print.
// Pure.
#pragma once

#include <string>
#include <vector>

#include "port/place_info.h"
#include "provider/slurm/slurm_tools.h"

namespace stoker {

// Words after "sinfo" and "squeue" whose output the functions below read. Fields and their order:
// sinfo(1) and squeue(1), "--Format" and "--format".
std::vector<std::string> SinfoWords();
std::vector<std::string> SqueueCountWords();

// "gpu:a100:4(S:0-1),gpu:2,mps:100" of `nodes` nodes: the GPUs of each name, all free.
std::vector<GpuShare> GpusOfGres(const std::string& gres, int nodes);

// A place for each partition, in the order of their first lines: "slurm/gpu". kCorrupt where it is
// not what sinfo prints. `jobs`: of squeue; what is not understood in it is passed over.
Result<std::vector<PlaceInfo>> ParseSlurmPlaces(const std::string& nodes, const std::string& jobs);

// Asks `tools` for both, 20 s each; jobs that cannot be counted are passed over.
Result<std::vector<PlaceInfo>> AskSlurmPlaces(const SlurmTools& tools);

// What to say where there is no partition of that name: "; did you mean slurm/gpu?", or which there
// are. "" where `places` could not be had.
std::string WhichPartitions(const Result<std::vector<PlaceInfo>>& places, const std::string& name);

// How that cluster calls GPUs of this name: capitals count for Slurm, and not for stoker. `name`
// itself where it has none, or `places` could not be had.
std::string GpuNameThere(const Result<std::vector<PlaceInfo>>& places, const std::string& name);

}  // namespace stoker
