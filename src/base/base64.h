// SPDX-License-Identifier: Apache-2.0
// RFC 4648. Pure.
#pragma once

#include <string>
#include <string_view>

namespace stoker {

// With '=' at its end.
std::string Base64(std::string_view bytes);
// The alphabet of URLs and file names, without '='.
std::string Base64Url(std::string_view bytes);

}  // namespace stoker
