// SPDX-License-Identifier: Apache-2.0
// Percent-encoding of RFC 3986: what stands between a name and its place in a URL. Pure.
#pragma once

#include <string>
#include <string_view>

namespace stoker {

// Every byte but A-Z a-z 0-9 - . _ ~ (RFC 3986, 2.3) as %XX in upper case: for keys and values of
// a query, where a space is %20 and never '+'.
std::string PercentEncode(std::string_view text);

// The same with '/' kept: for paths. Segments are not normalised: "a//b" and "a/../b" stay.
std::string PercentEncodePath(std::string_view path);

// The bytes behind %XX of either case; '+' stays '+', and a '%' without two hex digits stays as it
// is.
std::string PercentDecode(std::string_view text);

}  // namespace stoker
