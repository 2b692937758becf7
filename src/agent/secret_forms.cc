// SPDX-License-Identifier: Apache-2.0
#include "agent/secret_forms.h"

#include <set>

#include "base/json.h"
#include "base/text.h"

namespace stoker {
namespace {

constexpr std::string_view kBase64 =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::string_view kBase64Url =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
constexpr std::string_view kUpperHex = "0123456789ABCDEF";
constexpr std::string_view kLowerHex = "0123456789abcdef";

// The characters that `secret` alone decides when `before` bytes stand before it.
std::string InBase64(std::string_view secret, size_t before, std::string_view alphabet) {
  const std::string bytes = std::string(before, '\0') + std::string(secret);
  std::string out;
  for (size_t bit = before == 0 ? 0 : (before + 1) * 6; bit + 6 <= bytes.size() * 8; bit += 6) {
    const size_t at = bit / 8;
    unsigned pair = static_cast<unsigned char>(bytes[at]) << 8U;
    if (at + 1 < bytes.size()) pair |= static_cast<unsigned char>(bytes[at + 1]);
    out += alphabet[(pair >> (10 - bit % 8)) & 63U];
  }
  return out;
}

// `kept`: what stands for itself besides letters, digits and "-._~".
std::string InUrl(std::string_view secret, std::string_view kept, bool plus, std::string_view hex) {
  std::string out;
  for (const char c : secret) {
    if (IsAlnum(c) || std::string_view("-._~").find(c) < 4 || kept.find(c) < kept.size()) {
      out += c;
    } else if (plus && c == ' ') {
      out += '+';
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out += {'%', hex[byte >> 4U], hex[byte & 15U]};
    }
  }
  return out;
}

// What %XX in it stands for.
std::string OutOfUrl(std::string_view secret) {
  std::string out;
  for (size_t at = 0; at < secret.size(); ++at) {
    const auto digit = [&](size_t behind) {
      const char c = at + behind < secret.size() ? secret[at + behind] : ' ';
      const size_t upper = kUpperHex.find(c);
      return upper < 16 ? upper : kLowerHex.find(c);
    };
    const bool escape = secret[at] == '%' && digit(1) < 16 && digit(2) < 16;
    out += escape ? static_cast<char>(digit(1) * 16 + digit(2)) : secret[at];
    if (escape) at += 2;
  }
  return out;
}

std::string InJson(std::string_view secret, bool ascii) {
  const std::string quoted =
      nlohmann::json(secret).dump(-1, ' ', ascii, nlohmann::json::error_handler_t::replace);
  return quoted.substr(1, quoted.size() - 2);
}

std::string Replaced(std::string_view text, char what, std::string_view by) {
  std::string out;
  for (const char c : text) {
    if (c == what) {
      out += by;
    } else {
      out += c;
    }
  }
  return out;
}

// With C's escapes: Python's repr, and bash's $'…'. `octal`: bash in the locale C.
std::string InC(std::string_view secret, bool quote, bool octal) {
  std::string out;
  for (const char c : secret) {
    const auto byte = static_cast<unsigned char>(c);
    const size_t known = std::string_view("\n\t\r").find(c);
    if (known < 3) {
      out += {'\\', "ntr"[known]};
    } else if (c == '\\' || (quote && c == '\'')) {
      out += {'\\', c};
    } else if (octal && byte >= 0x80) {
      out += {'\\', static_cast<char>('0' + (byte >> 6U)),
              static_cast<char>('0' + ((byte >> 3U) & 7U)), static_cast<char>('0' + (byte & 7U))};
    } else {
      out += c;
    }
  }
  return out;
}

// As bash's printf %q where there is no other character than ASCII's visible ones.
std::string InBash(std::string_view secret) {
  std::string out;
  for (size_t at = 0; at < secret.size(); ++at) {
    const char c = secret[at];
    const bool begins = at == 0 || secret[at - 1] == ':' || secret[at - 1] == '=';
    const bool special = std::string_view(" '\"\\|&;()<>!{}*[?]^$`,").find(c) < 22 ||
                         (c == '#' && at == 0) || (c == '~' && begins);
    if (special) out += '\\';
    out += c;
  }
  return out;
}

std::string_view Stripped(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

}  // namespace

std::vector<std::string> FormsOfSecret(std::string_view secret) {
  std::set<std::string> forms;
  const auto add = [&forms](std::string_view form) {
    if (form.size() >= kLeastMasked) forms.emplace(form);
  };
  const std::string_view core = Stripped(secret);
  if (core.size() < kLeastMasked) return {};
  add(core);
  add(OutOfUrl(core));
  if (core.find('\n') != std::string_view::npos) {
    for (const std::string& line : Split(core, '\n')) add(Stripped(line));
  }
  for (const bool yes : {false, true}) {
    add(InJson(core, yes));
    for (const std::string_view kept : {"", "/"}) {
      add(InUrl(core, kept, yes, kUpperHex));
      add(InUrl(core, kept, yes, kLowerHex));
    }
    for (const bool octal : {false, true}) add(InC(core, yes, octal));
  }
  add(InBash(core));
  add(Replaced(core, '\'', "'\\''"));
  add(Replaced(core, '\'', "'\"'\"'"));
  for (const std::string_view value : {core, secret}) {
    for (size_t before = 0; before < 3; ++before) {
      add(InBase64(value, before, kBase64));
      add(InBase64(value, before, kBase64Url));
    }
  }
  return {forms.begin(), forms.end()};
}

}  // namespace stoker
