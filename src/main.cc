// SPDX-License-Identifier: Apache-2.0
// One binary, seven programs. What each needs of the real world (clocks, sockets, processes) is
// made in the room that is called here, and nowhere below it.
#include <cstring>

#include "cli/verb.h"
#include "node/agent_main.h"
#include "provider/local/local_boot.h"
#include "provider/local/local_machine.h"
#include "provider/local/local_waiter.h"
#include "provider/slurm/slurm_job.h"
#include "provider/slurm/slurm_node.h"
#include "provider/ssh/box_serve.h"
#include "provider/ssh/box_words.h"
#include "sys/nss.h"
#include "sys/task/task_init.h"

int main(int argc, char** argv) {
  // Before anything else: a static glibc must not load the host's name service modules.
  stoker::PinNameServices();
  const char* verb = argc > 1 ? argv[1] : "";
  // Inside a task: starts the user's program, and ends with all that it started.
  if (std::strcmp(verb, "__init") == 0) return stoker::TaskInitMain(argc, argv);
  // An instance of the local provider: what a machine is on a cloud.
  if (std::strcmp(verb, stoker::kLocalMachineVerb) == 0 && argc == 3) {
    return stoker::LocalMachineMain(argv[2]);
  }
  // Waits for the turns of those that stand in line on this machine.
  if (std::strcmp(verb, stoker::kLocalWaiterVerb) == 0 && argc == 3) {
    return stoker::LocalWaiterMain(argv[2]);
  }
  // A node of a Slurm job, around its agent.
  if (std::strcmp(verb, stoker::kSlurmNodeVerb) == 0 && argc == 3) {
    return stoker::SlurmNodeMain(argv[2]);
  }
  // The agent of a node.
  if (std::strcmp(verb, stoker::kLocalAgentVerb) == 0 && argc == 3) {
    return stoker::node::AgentMain(argv[2]);
  }
  // The other end of a connection to a box of a pool.
  if (std::strcmp(verb, stoker::kBoxVerb) == 0 && argc == 3) return stoker::BoxMain(argv[2]);
  // What people type.
  return stoker::cli::Main(argc, argv);
}
