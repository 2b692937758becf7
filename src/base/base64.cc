// SPDX-License-Identifier: Apache-2.0
#include "base/base64.h"

#include <openssl/evp.h>

namespace stoker {
namespace {

constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::string Base64(std::string_view bytes) {
  std::string out((bytes.size() + 2) / 3 * 4 + 1, '\0');
  const int size = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                   reinterpret_cast<const unsigned char*>(bytes.data()),
                                   static_cast<int>(bytes.size()));
  out.resize(static_cast<size_t>(size));
  return out;
}

std::string Base64Url(std::string_view bytes) {
  std::string out = Base64(bytes);
  while (!out.empty() && out.back() == '=') out.pop_back();
  for (char& c : out) {
    if (c == '+') c = '-';
    if (c == '/') c = '_';
  }
  return out;
}

// Not OpenSSL's: that wants padding, and keeps it as zeros.
std::optional<std::string> FromBase64(std::string_view text) {
  if (text.empty()) return std::nullopt;
  while (!text.empty() && (text.back() == '=' || text.back() == '\n')) text.remove_suffix(1);
  std::string out;
  uint32_t bits = 0;
  int have = 0;
  for (const char c : text) {
    if (c == '\n' || c == '\r') continue;
    const size_t value = kDigits.find(c);
    if (value == std::string_view::npos) return std::nullopt;
    bits = bits << 6 | static_cast<uint32_t>(value);
    have += 6;
    if (have < 8) continue;
    have -= 8;
    out += static_cast<char>(bits >> have & 0xff);
  }
  return out;
}

}  // namespace stoker
