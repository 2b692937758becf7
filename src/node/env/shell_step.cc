// SPDX-License-Identifier: Apache-2.0
#include "node/env/shell_step.h"

namespace stoker::node {

Result<TaskExit> ShellStep::Run(const TaskCommand& command, LogSink& sink,
                                const std::function<void()>& tick) {
  const Status cancelled_status(Code::kCancelled, "stopped while the node was set up");
  if (cancelled()) return cancelled_status;
  STOKER_ASSIGN(const std::unique_ptr<Task> task, runner_->Start(command, sink));
  std::optional<TaskExit> exit;
  while (!exit) {
    exit = task->Wait(100);
    if (!exit && tick) tick();
    if (!exit && cancelled()) {
      (void)task->End();
      return cancelled_status;
    }
  }
  STOKER_TRY(task->End());
  return *exit;
}

void ShellStep::Cancel() {
  const std::lock_guard lock(mutex_);
  cancelled_ = true;
}

void ShellStep::Reset() {
  const std::lock_guard lock(mutex_);
  cancelled_ = false;
}

bool ShellStep::cancelled() {
  const std::lock_guard lock(mutex_);
  return cancelled_;
}

}  // namespace stoker::node
