// SPDX-License-Identifier: Apache-2.0
// The engine by which this machine begins the job's container: what is there or, on a machine that
// was made for the job alone, what is installed.
#pragma once

#include <functional>
#include <string>

#include "base/status.h"
#include "container/engine_argv.h"
#include "node/env/shell_step.h"
#include "port/process_runner.h"

namespace stoker::node {

struct EngineSearch {
  std::string wanted;        // ContainerSpec::engine
  bool may_install = false;  // the machine's system is the job's to change
  std::function<void(const std::string&)> say;
  LogSink& sink;  // what installs it writes there
};

// Says what it installs, and tries that three times. `usual`: what `step` runs by afterwards.
// kInvalid: there is none, with what to do; kCancelled: `step` was.
Result<EngineFacts> EngineHere(const EngineSearch& search, ShellStep& step, ProcessRunner& usual);

}  // namespace stoker::node
