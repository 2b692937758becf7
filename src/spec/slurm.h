// SPDX-License-Identifier: Apache-2.0
// The section `slurm`: what sbatch is asked for. Inside spec/ only.
#pragma once

#include <string>

#include "spec/job_spec.h"
#include "spec/text/spec_reader.h"

namespace stoker {

void ReadSlurm(const YamlNode& node, SpecReader* reader, JobSpec* spec);
// Its lines; "" when nothing is asked for.
std::string PrintSlurm(const SlurmSpec& slurm);

}  // namespace stoker
