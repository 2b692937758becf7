// SPDX-License-Identifier: Apache-2.0
// Which GPUs of a machine a job may have. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "policy/local_queue.h"

namespace stoker {

// "H100" is "NVIDIA H100 80GB HBM3", "A100-80GB" is "NVIDIA A100-SXM4-80GB", "L4" is no "L40S".
// Capitals do not count.
bool IsGpuNamed(const std::string& wanted, const std::string& name);

bool HasGpu(const std::vector<int>& gpus, int number);

// Those that `wants` could use at all, whoever has them.
std::vector<int> UsableGpus(const LocalCapacity& capacity, const LocalWants& wants);
// The job's GPUs out of `free` (ascending), lowest numbers first; nullopt: they are not there.
std::optional<std::vector<int>> PickGpus(const LocalCapacity& capacity, const LocalWants& wants,
                                         const std::vector<int>& free);

// "2 GPUs", "1 H100", "GPUs 0 and 3", "all GPUs"
std::string GpusText(const LocalCapacity& capacity, const LocalWants& wants);
// "no GPU", "2 GPUs (NVIDIA L4)"
std::string GpusHere(const LocalCapacity& capacity);

}  // namespace stoker
