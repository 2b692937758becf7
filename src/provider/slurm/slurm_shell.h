// SPDX-License-Identifier: Apache-2.0
// A shell in the container of a job's program on a node of Slurm. Pure.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace stoker {

struct SlurmShell {
  std::string login;  // host that has srun, as in the settings; "" = this one
  std::string state_dir;
  std::string instance_id;  // SlurmInstanceId
  std::string command;      // "" = a shell
  bool terminal = false;    // this process has one
};
// Words for this terminal: a step beside the job's own, on the node, which asks that node's agent's
// program for the way in. kInvalid: no instance of Slurm.
Result<std::vector<std::string>> SlurmShellWords(const SlurmShell& shell);

}  // namespace stoker
