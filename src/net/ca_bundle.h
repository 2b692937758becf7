// SPDX-License-Identifier: Apache-2.0
// The certificates that are trusted where a machine has none of its own: PEM texts one after the
// other, from Debian's package ca-certificates on the machine that built this program (Mozilla's
// list, MPL 2.0). cmake/ca_bundle.cmake writes the definition.
#pragma once

#include <string_view>

namespace stoker {

extern const std::string_view kCaBundle;

}  // namespace stoker
