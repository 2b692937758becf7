// SPDX-License-Identifier: Apache-2.0
// Which deliberate bug (base/deliberate_bug.h) is on: one at a time.
#pragma once

#include <cstdint>
#include <string_view>

namespace stoker::sim {

// "" = none. Counting begins anew.
void SwitchBug(std::string_view name);
// How often the line of the bug that is on was met since.
int64_t TimesMet();

}  // namespace stoker::sim
