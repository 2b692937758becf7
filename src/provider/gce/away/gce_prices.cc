// SPDX-License-Identifier: Apache-2.0
#include "provider/gce/away/gce_prices.h"

namespace stoker {

std::string_view GcePriceDay() { return "2026-11-29"; }

std::optional<int64_t> GceListPrice(std::string_view, std::string_view) { return std::nullopt; }

}  // namespace stoker
