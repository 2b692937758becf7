// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/status.h"

namespace stoker {

struct ChildCommand {
  std::string program;  // as execve takes it
  std::vector<std::string> argv;
  std::vector<std::string> env;  // NAME=value
  std::string cwd;
  std::vector<int> fds;  // fds[i] becomes descriptor i; nothing else stays open
  // SIGKILL to it when the calling *thread* ends: call from one that lives as long as the process.
  bool die_with_thread = false;
};

// Starts a plain child in a session of its own, all signals at their defaults, and returns its pid;
// the caller reaps it. For programs of our own: a user's program goes through a ProcessRunner.
Result<pid_t> SpawnChild(const ChildCommand& command);

}  // namespace stoker
