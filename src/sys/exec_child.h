// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <functional>

#include "base/status.h"

namespace stoker {

// Why a child could not exec. `step` points to memory that parent and child both have.
struct ExecFailure {
  const char* step = "";
  int error = 0;
};

// A child made by clone(2) with `flags` (CLONE_NEW…, or 0) on a copy of our memory, and its pid
// once it has exec'ed; the caller reaps it. `body` runs in the child with all signals blocked: it
// makes plain system calls only (other threads may have held any lock), takes no memory, and
// returns only after filling in its argument: then the child is reaped here, and `failure` tells
// the same.
Result<pid_t> CloneAndExec(int flags, const std::function<void(ExecFailure&)>& body,
                           ExecFailure* failure = nullptr);

}  // namespace stoker
