// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace stoker {

// The body of `stoker __slurm_node FOLDER`, which srun starts on each node of a job: starts the
// agent, and starts it again when it dies, for as long as the allocation lives; ends all that it
// has started when the agent leaves, when its lease or a fire drill's notice is over, or when the
// request's folder is gone. Hands Slurm's SIGTERM on to the agent, and notes who ends the job,
// which Slurm forgets. Should this process be killed, the agent and all below it die with it.
// main() calls it before it has made any thread. Returns the exit code.
int SlurmNodeMain(const std::string& folder);

}  // namespace stoker
