// SPDX-License-Identifier: Apache-2.0
// A shell in a container that runs: begun by its engine, as whom the program is.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace stoker {

inline constexpr char kInsideVerb[] = "__inside";

struct EnterAsk {
  std::string state_dir;  // whose EngineNotes have the engine
  std::string owner;      // the folder of the machine, kContainerOwnerLabel
  std::string command;    // for /bin/sh; "" = a shell
  bool terminal = false;  // this process has one
};
// What is run on the machine of the container for it. kUnavailable: there is
// none of that owner now, or its engine does not say so.
Result<std::vector<std::string>> EnterWords(const EnterAsk& ask);

// The body of `stoker __enter STATE OWNER [COMMAND]` on the container's machine, for who comes
// there by ssh: becomes what EnterWords says. Returns an exit code where it cannot, and says why.
inline constexpr char kEnterVerb[] = "__enter";
int EnterMain(const std::string& state_dir, const std::string& owner, const std::string& command);

// The body of `stoker __inside [COMMAND]`, begun so: takes the environment and
// the folder of the program that runs there, read from its process, so that no
// value of it passes the engine. Then it is the shell.
int InsideMain(const char* command);

}  // namespace stoker
