// SPDX-License-Identifier: Apache-2.0
// Names that may be any bytes. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace stoker {

// Length of the character at `at` as RFC 3629 has it (no surrogates, nothing longer than need be);
// 0: it is none.
size_t Utf8At(std::string_view text, size_t at);
bool IsUtf8(std::string_view text);

// For people: `name` as it is, or, where Printable would change something of it, with \xNN in the
// place of each byte that cannot be shown, and \\ for a backslash: so that it can be found.
std::string Spelled(std::string_view name);

}  // namespace stoker
