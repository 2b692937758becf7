// SPDX-License-Identifier: Apache-2.0
// ASCII letters made small, or capital, whatever the locale; every other byte stays.
#pragma once

#include <string>
#include <string_view>

namespace stoker {

std::string LowerCase(std::string_view text);
std::string UpperCase(std::string_view text);

}  // namespace stoker
