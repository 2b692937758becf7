// SPDX-License-Identifier: Apache-2.0
#include "base/utf8.h"

#include <algorithm>

#include "base/text.h"

namespace stoker {

// Table 3-7 of Unicode.
size_t Utf8At(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) -> unsigned {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
  };
  const auto within = [&](size_t i, unsigned low, unsigned high) {
    return byte(i) >= low && byte(i) <= high;
  };
  const unsigned lead = byte(at);
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead <= 0xdf) return within(at + 1, 0x80, 0xbf) ? 2 : 0;
  if (lead >= 0xe0 && lead <= 0xef) {
    const unsigned low = lead == 0xe0 ? 0xa0 : 0x80;
    const unsigned high = lead == 0xed ? 0x9f : 0xbf;  // no surrogates
    return within(at + 1, low, high) && within(at + 2, 0x80, 0xbf) ? 3 : 0;
  }
  if (lead >= 0xf0 && lead <= 0xf4) {
    const unsigned low = lead == 0xf0 ? 0x90 : 0x80;
    const unsigned high = lead == 0xf4 ? 0x8f : 0xbf;
    const bool rest = within(at + 2, 0x80, 0xbf) && within(at + 3, 0x80, 0xbf);
    return within(at + 1, low, high) && rest ? 4 : 0;
  }
  return 0;
}

bool IsUtf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const size_t length = Utf8At(text, at);
    if (length == 0) return false;
    at += length;
  }
  return true;
}

std::string Spelled(std::string_view name) {
  if (Printable(name) == name && IsUtf8(name)) return std::string(name);
  static constexpr char kHex[] = "0123456789abcdef";
  std::string out;
  for (size_t at = 0; at < name.size();) {
    const size_t length = std::max<size_t>(1, Utf8At(name, at));
    const std::string_view one = name.substr(at, length);
    at += length;
    if (one == "\\") {
      out += "\\\\";
    } else if (IsUtf8(one) && Printable(one) == one && one != "\t") {
      out += one;
    } else {
      for (const char c : one) {
        const auto byte = static_cast<unsigned char>(c);
        out += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
      }
    }
  }
  return out;
}

}  // namespace stoker
