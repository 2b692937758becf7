// SPDX-License-Identifier: Apache-2.0
// Which Python a program runs in, as its processes show it, and what that Python says of itself.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "contract/environment.h"

namespace stoker::node {

struct PythonSeen {
  std::string path;                    // as the process was started, its links not followed
  std::vector<std::string> variables;  // its environment, "NAME=value"
};

// Of `pids` the one that was started first and is a Python, but for what LeadsElsewhere. A program
// that is started by way of a script that activates an environment of its own is seen so, too.
std::optional<PythonSeen> SeePython(const std::vector<int>& pids);
// For a program that ended before it was seen: the Python that its words name, else python3, as the
// PATH of `env` has it. `cwd`: its folder.
std::optional<PythonSeen> AssumePython(const std::string& words, const contract::Environment& env,
                                       const std::string& cwd);

// Of the command line of a Python: it starts the program in another environment ("conda run").
bool LeadsElsewhere(const std::vector<std::string>& words);

struct PythonSaid {
  std::string version;
  std::vector<std::string> path;  // sys.path, without what is no folder's absolute path
};

// Asks it, for 10 s at most, with its own environment: its path holds what .pth files, PYTHONPATH
// and folders of the system add.
Result<PythonSaid> AskSeen(const PythonSeen& python);
// Pure; kInvalid where it is no answer.
Result<PythonSaid> ParsePythonSaid(std::string_view text);

}  // namespace stoker::node
