// SPDX-License-Identifier: Apache-2.0
// What 'stoker doctor --infra slurm[/PARTITION]' finds.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "port/broker.h"
#include "provider/slurm/slurm_tools.h"

namespace stoker {

// Slurm's programs, its controller, the partition ("" = the default one), its time limit, whether a
// node sees the folder `state` (by a job of a moment, where a node is free), and accounting.
std::vector<Finding> ExamineSlurm(SlurmTools& tools, const std::string& state,
                                  const std::string& partition);

// The engines for containers that the last ExamineSlurm with this `state` found on a node of the
// partition; unset = none ever looked there. Reads a small file.
std::optional<std::vector<std::string>> SlurmEngines(const std::string& state,
                                                     const std::string& partition);

}  // namespace stoker
