// SPDX-License-Identifier: Apache-2.0
#include "transfer/object_name.h"

#include <charconv>

#include "base/digest.h"
#include "base/text.h"
#include "base/utf8.h"

namespace stoker {
namespace {

constexpr char kOddNames[] = "odd-names/";
constexpr size_t kPlainKey = 900;  // that every store takes

}  // namespace

std::string OddObject(const std::string& path) { return kOddNames + Sha256Hex(path); }

// Lists of S3 are XML, which has no control characters and not U+FFFE and U+FFFF: what has them in
// its name could be written there, and not be found again.
std::string ObjectOf(const std::string& path, size_t before) {
  const bool plain = before + path.size() <= kPlainKey && IsUtf8(path) && Printable(path) == path &&
                     path.find('\t') == std::string::npos &&
                     path.find("\xEF\xBF\xBE") == std::string::npos &&
                     path.find("\xEF\xBF\xBF") == std::string::npos;
  return plain && !StartsWith(path, kOddNames) ? path : OddObject(path);
}

std::string EncodeName(std::string_view name) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80 && c != '%') {
      out += c;
    } else {
      out += {'%', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  return out;
}

std::string DecodeName(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size(); ++at) {
    unsigned value = 0;
    const char* digits = text.data() + at + 1;
    const bool coded = text[at] == '%' && at + 2 < text.size() &&
                       std::from_chars(digits, digits + 2, value, 16).ptr == digits + 2;
    out += coded ? static_cast<char>(value) : text[at];
    if (coded) at += 2;
  }
  return out;
}

}  // namespace stoker
