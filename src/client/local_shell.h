// SPDX-License-Identifier: Apache-2.0
// Beside the program of a job that runs on this machine: its environment, as its processes have it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/status.h"

namespace stoker::client {

// "NAME=value" of the program of one node; of its setup while there is no program; nullopt: none of
// its processes is there, or may be looked at. Read from /proc, so that values that lie nowhere,
// as those of secrets, are there too.
std::optional<std::vector<std::string>> EnvironmentOfProgram(const std::string& job, int attempt,
                                                             int rank);

// The same out of what /proc/<pid>/environ holds: nullopt where it is not of that node. Pure.
struct ProgramEnvironment {
  std::vector<std::string> all;
  bool setup = false;
};
std::optional<ProgramEnvironment> ReadProgramEnvironment(const std::string& environ_text,
                                                         const std::string& job, int attempt,
                                                         int rank);

// Words that open a shell in the container of `instance` of this machine, or run `command` there.
// kUnavailable: it has none now.
Result<std::vector<std::string>> ContainerShell(const std::string& state_dir,
                                                const std::string& instance,
                                                const std::string& command);

}  // namespace stoker::client
