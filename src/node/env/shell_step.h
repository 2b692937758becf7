// SPDX-License-Identifier: Apache-2.0
// One command run to its end while a node is set up; can be cancelled from another thread.
#pragma once

#include <functional>
#include <memory>
#include <mutex>

#include "base/status.h"
#include "port/process_runner.h"

namespace stoker::node {

// Thread-safe: Cancel may come at any time, also before Run.
class ShellStep {
 public:
  explicit ShellStep(ProcessRunner& runner) : runner_(&runner) {}
  // From now on; by the thread that runs.
  void Use(ProcessRunner& runner) { runner_ = &runner; }
  // Runs `command`, its output to `sink`, and ends everything it started. kCancelled after Cancel.
  // `tick`, which may be empty, is called about ten times a second meanwhile.
  Result<TaskExit> Run(const TaskCommand& command, LogSink& sink,
                       const std::function<void()>& tick = {});
  void Cancel();
  // Forgets a former Cancel: called before a new attempt is staged.
  void Reset();
  bool cancelled();

 private:
  ProcessRunner* runner_;
  std::mutex mutex_;
  bool cancelled_ = false;
};

}  // namespace stoker::node
