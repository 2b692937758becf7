// SPDX-License-Identifier: Apache-2.0
// Which engines for containers this machine has, and what they are asked for.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "container/engine_argv.h"
#include "sys/command.h"

namespace stoker {

// This process's environment, less what marks stoker's own processes: what an engine keeps running
// is its own to end.
std::vector<std::string> EngineEnvironment();

// Runs `argv` in `cwd` ("" = "/": a client of podman may leave files where it stands).
Result<sys::CommandOutput> AskEngine(const std::vector<std::string>& argv, int64_t timeout_ms,
                                     const std::string& cwd = "");

struct FoundEngine {
  EngineFacts facts;
  std::string trouble;  // it is installed, but cannot be used: why, and what to do
};
// In the order of preference: podman, docker. Takes as long as they do to say their version.
std::vector<FoundEngine> FindEngines();

// The one that `wanted` names, "" = the first that can be used. kInvalid: there is none here, with
// what to do.
Result<EngineFacts> ChooseEngine(const std::string& wanted);

// Removes all containers of `owner` ("" = of every owner whose folder is gone), tried twice: after
// a kill podman fails the first time. Returns how many are gone. Errors: one stays.
Result<int> RemoveContainers(const EngineFacts& engine, const std::string& owner);

}  // namespace stoker
