// SPDX-License-Identifier: Apache-2.0
#include "sim/bugs/switch.h"

#include <string>

#include "base/deliberate_bug.h"

namespace stoker {
namespace {

std::string on;
int64_t met = 0;

}  // namespace

bool BugIsOn(std::string_view name) {
  if (name != on) return false;
  ++met;
  return true;
}

namespace sim {

void SwitchBug(std::string_view name) {
  on = name;
  met = 0;
}
int64_t TimesMet() { return met; }

}  // namespace sim
}  // namespace stoker
