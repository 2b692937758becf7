// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/status.h"
#include "sys/task/task_protocol.h"

namespace stoker {

struct ShimSpawn {
  std::string executable;       // "/proc/self/exe", or another file with the same verbs
  bool namespaces = false;      // its own pid and mount namespaces, with /proc mounted anew
  bool user_namespace = false;  // and a user namespace in which this user is itself
  std::string host_name;   // with `namespaces`: what it is called, where that can be; "" = as here
  std::string hosts_file;  // what it finds as /etc/hosts then
  std::vector<std::string> env;  // of the shim, not of the program
  int fds[kPayloadFd + 1] = {};  // what its descriptors 0 … kPayloadFd are copies of
};

// Starts `<executable> __init` and returns its pid; the caller reaps it. Runs on the spawn thread,
// so that the shim's PR_SET_PDEATHSIG means the death of this process. kDenied where the kernel, a
// container or a security module does not allow the namespaces.
Result<pid_t> SpawnShim(const ShimSpawn& spawn);

}  // namespace stoker
