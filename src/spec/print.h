// SPDX-License-Identifier: Apache-2.0
// JobSpec to its canonical YAML: what is stored as spec.yaml and digested.
#pragma once

#include <string>

#include "spec/job_spec.h"

namespace stoker {

// The same spec gives the same bytes, with every default written out; ParseStoredSpec of them gives
// the same spec. `spec` must be valid (it came from spec/parse.h); where checkpoints.path_given is
// false the path is the default one.
std::string PrintJobSpec(const JobSpec& spec);

// What it runs, in one line for people: the command, or the first line of the script.
std::string ProgramText(const JobSpec& spec);

}  // namespace stoker
