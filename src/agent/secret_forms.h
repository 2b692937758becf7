// SPDX-License-Identifier: Apache-2.0
// How a tool may write a secret that it prints. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace stoker {

// Shorter values are not masked: they would blacken the log, and be guessed all the same.
inline constexpr size_t kLeastMasked = 6;

// A secret as it is, without white space around it; each line of one that has several; what a URL's
// escapes in it stand for; as URLs, JSON, Python's repr and shells write it (bash's %q and `set
// -x`, dash, shlex), without the quotes around; and in base64 (both alphabets) wherever it begins
// within the encoded text. Not what a program makes of it otherwise: split up, reversed, hashed.
std::vector<std::string> FormsOfSecret(std::string_view secret);

}  // namespace stoker
