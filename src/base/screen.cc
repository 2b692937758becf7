// SPDX-License-Identifier: Apache-2.0
#include "base/screen.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <iterator>

namespace stoker {
namespace {

// Length of the valid UTF-8 sequence at `at`, or 0.
size_t Utf8Length(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(at);
  if (lead < 0x80) return 1;
  const size_t length = lead >= 0xf0 && lead < 0xf5 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc2 ? 2 : 0;
  if (length == 0 || lead >= 0xf5 || at + length > text.size()) return 0;
  for (size_t i = 1; i < length; ++i)
    if ((byte(at + i) & 0xc0) != 0x80) return 0;
  return length;
}

// The character at `at` when it is one of two or three bytes that changes how the rest is shown: C1
// control characters (U+0080-U+009F), which drive terminals just as ESC does; what turns the
// direction of writing (U+061C, U+200E-F, U+202A-E, U+2066-9); line ends (U+2028-9). Else 0.
uint32_t UnseenAt(std::string_view text, size_t at, size_t length) {
  const auto bits = [&](size_t i) { return static_cast<uint32_t>(text[at + i]) & 0x3f; };
  uint32_t code = 0;
  if (length == 2) code = (static_cast<uint32_t>(text[at]) & 0x1f) << 6 | bits(1);
  if (length == 3) code = (static_cast<uint32_t>(text[at]) & 0x0f) << 12 | bits(1) << 6 | bits(2);
  const bool c1 = code >= 0x80 && code < 0xa0;
  const bool turns = code == 0x61c || code == 0x200e || code == 0x200f ||
                     (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
  return c1 || turns ? code : 0;
}

// Length of the colour sequence at `at` that `colours` lets through, or 0.
size_t ColourAt(std::string_view text, size_t at, Colours colours) {
  constexpr size_t kLongest = 32;
  if (colours == Colours::kNone || text.substr(at, 2) != "\x1b[") return 0;
  size_t end = at + 2;
  while (end < text.size() && end - at < kLongest &&
         ((text[end] >= '0' && text[end] <= '9') || text[end] == ';' || text[end] == ':')) {
    ++end;
  }
  if (end >= text.size() || text[end] != 'm') return 0;
  const std::string_view code = text.substr(at + 2, end - at - 2);
  constexpr std::string_view kOwn[] = {"0", "1", "2", "31", "32", "33", "36"};
  const bool own = std::find(std::begin(kOwn), std::end(kOwn), code) != std::end(kOwn);
  return own || colours == Colours::kAll ? end + 1 - at : 0;
}

// Position after the ESC sequence that starts at `at` (CSI and OSC; else ESC and one character).
size_t SkipEscape(std::string_view text, size_t at) {
  if (at + 1 >= text.size()) return text.size();
  if (text[at + 1] == '[') {
    size_t end = at + 2;
    while (end < text.size() && (text[end] < 0x40 || text[end] > 0x7e)) ++end;
    return std::min(end + 1, text.size());
  }
  if (text[at + 1] == ']') {
    size_t end = at + 2;
    while (end < text.size() && text[end] != 0x07 && text[end] != 0x1b && text[end] != '\n') ++end;
    if (end < text.size() && text[end] == 0x1b) ++end;
    return std::min(end + 1, text.size());
  }
  return at + 2;
}

// The end of what is printed as it is, as nearly all is.
size_t PlainUntil(std::string_view text, size_t at) {
  while (at < text.size() && text[at] >= 0x20 && text[at] < 0x7f) ++at;
  return at;
}

}  // namespace

std::string Printable(std::string_view text, bool keep_newlines, Colours colours) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const size_t plain = PlainUntil(text, at);
    out.append(text, at, plain - at);
    at = plain;
    if (at == text.size()) break;
    const unsigned char c = static_cast<unsigned char>(text[at]);
    if (c == 0x1b) {
      const size_t colour = ColourAt(text, at, colours);
      out.append(text.substr(at, colour));
      at = colour > 0 ? at + colour : SkipEscape(text, at);
    } else if (c == '\t' || (c == '\n' && keep_newlines)) {
      out += static_cast<char>(c);
      ++at;
    } else if (c < 0x20 || c == 0x7f) {
      ++at;
    } else if (const size_t length = Utf8Length(text, at); length == 0) {
      out += '?';
      ++at;
    } else {
      if (UnseenAt(text, at, length) != 0)
        out.append(length, '?');
      else
        out.append(text.substr(at, length));
      at += length;
    }
  }
  return out;
}

std::string PrintableJson(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  for (size_t at = 0; at < json.size();) {
    const size_t length = std::max<size_t>(1, Utf8Length(json, at));
    const uint32_t code = json[at] == 0x7f ? 0x7f : UnseenAt(json, at, length);
    char escape[16] = "";
    if (code != 0) std::snprintf(escape, sizeof escape, "\\u%04x", code);
    out.append(code != 0 ? std::string_view(escape) : json.substr(at, length));
    at += length;
  }
  return out;
}

}  // namespace stoker
