// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/time.h"

namespace stoker {

// As long as a drill may last.
inline constexpr Duration kMostLead = Duration::Hours(7 * 24);

// The platform's warning that it will take this machine.
struct Notice {
  std::string action;  // "terminate", "stop", "hibernate"
  WallTime until;      // by the platform's clock, which is also this machine's
  // A host that shuts down without its platform having said so: who ends it is not known yet.
  bool unexplained = false;
  bool operator==(const Notice&) const = default;
};

}  // namespace stoker
