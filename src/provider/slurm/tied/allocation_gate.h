// SPDX-License-Identifier: Apache-2.0
// Jobs on this machine that were submitted inside an allocation of Slurm: what the local provider
// asks before it launches for one, and after one was killed.
#pragma once

#include "provider/local/local_provider.h"

namespace stoker {

// Asks Slurm's programs on this machine, of tied requests alone, and remembers an answer for a
// second. Thread-safe.
AllocationGate MakeAllocationGate();

}  // namespace stoker
