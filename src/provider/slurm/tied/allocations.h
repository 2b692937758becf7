// SPDX-License-Identifier: Apache-2.0
// Slurm's allocations, as jobs that are begun inside of one know them.
#pragma once

#include "port/allocation.h"

namespace stoker {

const Allocations& SlurmAllocations();

}  // namespace stoker
