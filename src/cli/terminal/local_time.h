// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/time.h"

namespace stoker::cli {

// For people: "2026-11-21 18:03:11 CET", in the zone of TZ or /etc/localtime. Scripts get UTC from
// --json.
std::string LocalTime(WallTime time);

}  // namespace stoker::cli
