// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

namespace stoker {

// Runs `work` on a thread that lives as long as this process, and returns when it is done.
// PR_SET_PDEATHSIG fires when the *thread* that made the child ends, not the process: a child that
// is to die with this process must be made here. Thread-safe; calls run one after the other.
void RunOnSpawnThread(const std::function<void()>& work);

}  // namespace stoker
