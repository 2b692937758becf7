// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace stoker {

// The body of `stoker __machine DIR`: the process that is an instance on this machine. Detaches
// from who started it; holds the folder's lock and an address of its own; starts the agent and
// starts it again when it dies; and takes everything down when the agent ends with 0, when the
// lease or an interruption notice runs out (the agent may be dead or stopped), on SIGTERM, or when
// the folder disappears. Should this process be killed, the agent and all below it die with it.
// main() calls it before it has made any thread. Returns the exit code.
int LocalMachineMain(const std::string& dir);

}  // namespace stoker
