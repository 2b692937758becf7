// SPDX-License-Identifier: Apache-2.0
// A lock that a descriptor holds, so that the kernel frees it when its holder dies.
#pragma once

#include <string>

#include "base/status.h"
#include "sys/file.h"

namespace stoker::sys {

// The whole file, for this descriptor alone; makes the file (mode 0600) when it is not there. kBusy
// when somebody has it. Thread-safe; two descriptors of one process exclude each other too.
Result<ScopedFd> TryFileLock(const std::string& path);
// The same of a file that is open for writing. Whoever inherits the descriptor holds it, too.
Status TryLock(const ScopedFd& fd, const std::string& path);

}  // namespace stoker::sys
