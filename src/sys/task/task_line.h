// SPDX-License-Identifier: Apache-2.0
// What a runner does for any shim: the command checked and written for it, the descriptors that
// both hold.
#pragma once

#include <string>

#include "base/status.h"
#include "port/process_runner.h"
#include "sys/file.h"
#include "sys/task/running_task.h"
#include "sys/task/task_protocol.h"

namespace stoker {

// kInvalid: it cannot be handed to any shim.
Status CheckCommand(const TaskCommand& command);
// PATH of its environment, else a usual one.
std::string PathOf(const TaskCommand& command);
// All but the program's file, the mechanism and marks.
TaskPayload PayloadOf(const TaskCommand& command);
// Of a kStartFailed.
Status StartFailure(const TaskMessage& message, const TaskPayload& payload);

class TaskLine {
 public:
  // Of the shim, 0 … kPayloadFd; open as long as this, or until HandOver. `payload.lock` is the
  // caller's own.
  int theirs[kPayloadFd + 1] = {};
  // The owner's end, before HandOver.
  int control() const { return control_.get(); }
  // The shim has its ends: ours go to `task`, the copies of its own are closed.
  void HandOver(StartedTask* task);

 private:
  friend Result<TaskLine> OpenTaskLine(const TaskPayload& payload);
  sys::ScopedFd file_, null_, out_, err_, status_, control_;
  sys::ScopedFd given_[4];
};
// Errors: no descriptors are to be had.
Result<TaskLine> OpenTaskLine(const TaskPayload& payload);

}  // namespace stoker
