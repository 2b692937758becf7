// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "base/time.h"

namespace stoker {

// Ends everything that descends from this process, which must be a subreaper
// (PR_SET_CHILD_SUBREAPER) or pid 1. `reap` collects ended children, and returns false when there
// is no child left at all: only then nothing can be left, and this returns true. False when `limit`
// is over. Best effort against programs that fork faster than /proc can be read.
bool EndDescendants(const std::function<bool()>& reap, Duration limit);

}  // namespace stoker
