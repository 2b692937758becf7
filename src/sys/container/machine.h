// SPDX-License-Identifier: Apache-2.0
// What of this machine decides how a container is begun, and what of it is there. Any thread.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/status.h"
#include "container/engine_argv.h"

namespace stoker {

// Sets what a plan has of the machine: `machine_memory`, `groups`, `holds_pids`, `whole_root`.
void LearnOfMachine(ContainerPlan* plan);

// kInvalid names the first source of `volumes` or `devices` that is not on this machine: docker
// would make an empty folder of it. What may not be looked at counts as there.
Status CheckSources(const ContainerSpec& spec);

// AMD's devices, where the machine has GPUs of theirs.
std::vector<std::string> AmdDevices();

// Numbers of `plan.groups` that the process `pid` has lost, for people; "" = none, or not to be
// seen.
std::string TellLostGroups(const ContainerPlan& plan, pid_t pid);

}  // namespace stoker
