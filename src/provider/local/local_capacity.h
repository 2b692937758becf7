// SPDX-License-Identifier: Apache-2.0
// What this machine has to share: counted anew each time, for limits and devices come and go.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "policy/local_queue.h"

namespace stoker {

// CPUs that are online, all of the memory, each bounded by this container's limit where there is
// one; NVIDIA's GPUs by their device files, AMD's by the kernel's topology. $STOKER_CAPACITY says
// it instead ("cpus=2 memory=8GB gpus=2 name=H100"), for tests and to leave room for others.
// Opens no device and calls no driver.
LocalCapacity CountCapacity();

// kUsage when $STOKER_CAPACITY is not understood: CountCapacity passes it over.
Status CheckCapacity();

// How many GPUs are AMD's: all or none, for stoker does not mix them.
bool HasRocm();

// "STOKER_GPUS=cuda:0,1", "STOKER_GPUS=rocm:": what the agent is told of its job's GPUs. "" where
// there are none and none were named.
std::string GrantVariable(const std::vector<int>& gpus, const LocalCapacity& capacity,
                          const LocalWants& wants);

}  // namespace stoker
