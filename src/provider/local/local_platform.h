// SPDX-License-Identifier: Apache-2.0
// A machine of the local provider, seen from its agent: its folder.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "port/clock.h"
#include "port/node_platform.h"

namespace stoker {

// For the agent of this machine, which has the folder `dir`; null: it is no local one. Errors:
// those of ReadLocalBoot and ReadLocalMachineInfo.
Result<std::unique_ptr<NodePlatform>> FindLocalPlatform(const std::string& dir, Clock& clock);

}  // namespace stoker
