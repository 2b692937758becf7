// SPDX-License-Identifier: Apache-2.0
// How a process that plays a machine begins: it outlives whoever launched it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "sys/child_process.h"

namespace stoker {

// This process's environment, as NAME=value, without what ties the process to a machine or a task,
// and without the variables `more`.
std::vector<std::string> CleanEnvironment(const std::vector<std::string_view>& more = {});

// Starts a process whose main() forks: the child goes on, and the parent ends at once. Returns when
// the parent has ended. Errors: it cannot be started.
Status StartDetached(const ChildCommand& command);
// The same of this very program, also where its file has been replaced since; in "/", with a clean
// environment. `log`: the file that it writes to; what was in it goes.
Status StartDetachedSelf(std::vector<std::string> argv, const std::string& log,
                         const std::vector<std::string_view>& more = {});

}  // namespace stoker
