// SPDX-License-Identifier: Apache-2.0
// Options of `podman run` and `docker run` that a job file may hand on, and those that it may not.
// Pure.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace stoker {

// `words` as options of one word each: "--ulimit memlock=-1" becomes "--ulimit=memlock=-1".
// kInvalid names the first that stoker sets itself, or that is no long option, and what to write.
Result<std::vector<std::string>> CheckRunOptions(const std::vector<std::string>& words);

// Whether `options`, as CheckRunOptions made them, have `option`: "--ipc".
bool Gives(const std::vector<std::string>& options, const std::string& option);
// Whether the container has a /dev/shm of its own, which has a size: not with --ipc=host, another
// container's, or none.
bool HasOwnShared(const std::vector<std::string>& options);

}  // namespace stoker
