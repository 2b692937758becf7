// SPDX-License-Identifier: Apache-2.0
// RFC 4648. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace stoker {

// With '=' at its end.
std::string Base64(std::string_view bytes);
// The alphabet of URLs and file names, without '='.
std::string Base64Url(std::string_view bytes);
// What Base64 wrote, with or without padding, also in lines. Nullopt: it is none.
std::optional<std::string> FromBase64(std::string_view text);

}  // namespace stoker
