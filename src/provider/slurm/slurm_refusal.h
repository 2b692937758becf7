// SPDX-License-Identifier: Apache-2.0
// What sbatch says when it makes no job: the words of src/common/slurm_errno.c of Slurm, which are
// the same from 20.11 to 24.05 but where the table says so. Pure.
#pragma once

#include <string>

#include "port/provider.h"

namespace stoker {

// `said`: what sbatch wrote to its standard error. What nobody has seen before is no answer, with
// the words as they are: it may have taken effect.
LaunchAnswer SlurmRefusal(const std::string& said);
// The one line of it that says what is wrong.
std::string SlurmSaid(const std::string& said);

}  // namespace stoker
