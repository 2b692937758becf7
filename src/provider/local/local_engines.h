// SPDX-License-Identifier: Apache-2.0
// What machines of this one that are over have left with its engines for containers.
#pragma once

#include <string>
#include <vector>

#include "base/time.h"

namespace stoker {

// Removes dead containers of machines that are gone ("container ID") and images that stoker has put
// there and nobody has used for long ("image NAME"); with `dry_run` only tells them. Asks no engine
// where no job has had a container or built an image.
std::vector<std::string> SweepEngines(const std::string& state_dir, WallTime now, bool dry_run);

}  // namespace stoker
