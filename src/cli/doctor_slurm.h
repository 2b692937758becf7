// SPDX-License-Identifier: Apache-2.0
// What 'stoker doctor --infra slurm[/PARTITION]' finds.
#pragma once

#include <string>
#include <vector>

#include "cli/context.h"
#include "cli/doctor_boxes.h"

namespace stoker::cli {

// Slurm's programs, its controller, the partition ("" = the default one), its time limit, whether a
// node sees the state folder (by a job of a moment, where a node is free), and accounting.
std::vector<Finding> ExamineSlurm(Context& context, const std::string& partition);

}  // namespace stoker::cli
