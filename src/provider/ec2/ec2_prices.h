// SPDX-License-Identifier: Apache-2.0
// What machines cost on demand, as far as it is known here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace stoker {

// The day of the list below: "2025-05-28".
std::string_view Ec2PriceDay();

// Amazon's list price of a Linux machine on demand on that day, in millionths of a dollar an hour.
// Unset: it is not known here, which is no price of 0. Pure.
std::optional<int64_t> Ec2ListPrice(std::string_view region, std::string_view type);

}  // namespace stoker
