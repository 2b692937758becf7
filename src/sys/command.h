// SPDX-License-Identifier: Apache-2.0
// Runs short commands and collects what they print. For asking git and the like, nothing more: the
// user's program is started by port/process_runner.h.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/status.h"

namespace stoker::sys {

struct Command {
  std::vector<std::string> argv;    // argv[0] is looked up in this process's PATH
  std::vector<std::string> env;     // the whole environment, "NAME=value"
  std::string input = "/dev/null";  // file that it reads as standard input
  size_t max_output = 1 << 30;  // bytes of standard output kept; the command ends when it has more
  std::string cwd = {};         // "" = this process's
};

struct CommandOutput {
  int exit_code = 0;  // 128 + signal when a signal ended it
  std::string out;
  std::string err;         // at most 64 KiB
  bool truncated = false;  // it had more than max_output to say
};

// True: nobody waits for the answer any more. Asked ten times a second by the thread that waits.
using Stopped = std::function<bool()>;

// All at once, each in its own process; results in the order of `commands`. kNotFound: there is no
// such program. kTimeout: not done after `timeout_ms`, and killed; kCancelled: not done when
// `stopped`, which may be empty, said so, and killed. A command that ran and failed is a result
// with its exit code. Thread-safe; leaves no process behind.
std::vector<Result<CommandOutput>> RunCommands(const std::vector<Command>& commands,
                                               int64_t timeout_ms, const Stopped& stopped = {});

}  // namespace stoker::sys
