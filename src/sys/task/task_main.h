// SPDX-License-Identifier: Apache-2.0
// What every shim does, in its own process: starts the program, reaps, tells the owner. Of
// task_init.h and of the first process of a container; the descriptors are those of
// task_protocol.h.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>

#include "sys/task/task_protocol.h"

namespace stoker::shim {

void Tell(TaskMessage::Kind kind, int32_t value, int32_t stage = 0, int64_t peak = 0);

// The program's pid; 0 after telling the owner what went wrong.
pid_t StartMain(TaskPayload& payload, bool has_host_name);

// Collects what has ended, and tells of `main`. False when this process has no child left at all:
// as the adopter of every orphan below it, it then has no descendant left either. `ended` is called
// with each other one.
bool Reap(pid_t main, const std::function<void(pid_t)>& ended = {});

// SIGCHLD through the returned descriptor; nothing else reaches the shim but SIGKILL and SIGSTOP.
int ArrangeSignals();

// The host's name is this one, and it is not "".
bool IsCalled(const std::string& name);

}  // namespace stoker::shim
