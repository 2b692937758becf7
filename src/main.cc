// SPDX-License-Identifier: Apache-2.0
// One binary, several programs. What each needs of the real world (clocks, sockets, processes) is
// made in the room that is called here, and nowhere below it.
#include <cstring>

#include "cli/verb.h"
#include "node/agent_main.h"
#include "provider/local/local_boot.h"
#include "provider/registry.h"
#include "sys/container/container_init.h"
#include "sys/container/enter.h"
#include "sys/nss.h"
#include "sys/task/task_init.h"

int main(int argc, char** argv) {
  // Before anything else: a static glibc must not load the host's name service modules.
  stoker::PinNameServices();
  stoker::LearnPlaces();
  const char* verb = argc > 1 ? argv[1] : "";
  // Inside a task: starts the user's program, and ends with all that it started.
  if (std::strcmp(verb, "__init") == 0) return stoker::TaskInitMain(argc, argv);
  // In a container: the first process.
  if (std::strcmp(verb, stoker::kContainerVerb) == 0 && argc == 3) {
    return stoker::ContainerInitMain(argv[2]);
  }
  // In a container: a shell beside its program.
  if (std::strcmp(verb, stoker::kInsideVerb) == 0 && argc <= 3) {
    return stoker::InsideMain(argc == 3 ? argv[2] : "");
  }
  // On the machine of a container: the way into it.
  if (std::strcmp(verb, stoker::kEnterVerb) == 0 && (argc == 4 || argc == 5)) {
    return stoker::EnterMain(argv[2], argv[3], argc == 5 ? argv[4] : "");
  }
  // The agent of a node.
  if (std::strcmp(verb, stoker::kLocalAgentVerb) == 0 && argc == 3) {
    return stoker::node::AgentMain(argv[2]);
  }
  // What a provider has beside it: an instance of this machine, the other end of a connection.
  if (const auto program = stoker::FindProviderProgram(verb); program != nullptr && argc == 3) {
    return program(argv[2]);
  }
  // What looks after jobs in a cloud; its services start it without a word.
  if (argc == 1) {
    if (const auto code = stoker::RunAway()) return *code;
  }
  // What people type.
  return stoker::cli::Main(argc, argv);
}
