// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "port/spool.h"

namespace stoker {

// The folder at `path` (made with its parents where missing, mode 0700) as a spool. No fsync: page
// cache outlives the process, and a machine that dies takes its disk along.
Result<std::unique_ptr<SpoolFolder>> OpenSpoolFolder(const std::string& path);

}  // namespace stoker
