// SPDX-License-Identifier: Apache-2.0
// What --env, --env-file and --secret give a job: variables for the spec, secrets for this machine.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/status.h"

namespace stoker::client {

struct VariableFlags {
  std::vector<std::string> envs;       // NAME=VALUE, NAME, or a pattern of names
  std::vector<std::string> env_files;  // see spec/text/env_text.h
  std::vector<std::string> secrets;    // NAME, NAME=@FILE, NAME=ssm:/…
};

struct GivenVariables {
  std::vector<std::string> envs;     // for SpecOverrides: files first, so that flags win
  std::vector<std::string> secrets;  // as SpecOverrides has them
  std::map<std::string, std::string> secret_values;  // of those that a flag says where to find
};

// Reads files and the environment of this process. What looks like a secret in a file, or among the
// matches of a pattern, is one. kUsage names the flag; no message holds a value.
Result<GivenVariables> ReadVariables(const VariableFlags& flags);

// Names of this process's environment, sorted.
std::vector<std::string> NamesInEnvironment();

}  // namespace stoker::client
