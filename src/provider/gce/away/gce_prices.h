// SPDX-License-Identifier: Apache-2.0
// What machines of Compute Engine cost on demand, as far as it is known here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace stoker {

// The day of the list: "2026-11-29".
std::string_view GcePriceDay();

// Google's list price of a machine on demand on that day, in millionths of a dollar an hour. `type`
// may have what is attached behind it: "n1-standard-8/nvidia-tesla-t4:1". Unset: it is not known
// here, which is no price of 0. Pure.
std::optional<int64_t> GceListPrice(std::string_view region, std::string_view type);

}  // namespace stoker
