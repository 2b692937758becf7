// SPDX-License-Identifier: Apache-2.0
#include "spec/text/json_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>

#include "base/text.h"

namespace stoker {
namespace {

bool AllOf(std::string_view text, std::string_view set) {
  return !text.empty() && text.find_first_not_of(set) == std::string_view::npos;
}

constexpr std::string_view kDigits = "0123456789";

std::string_view TakeDigits(std::string_view* text) {
  const size_t length = std::min(text->find_first_not_of(kDigits), text->size());
  const std::string_view digits = text->substr(0, length);
  text->remove_prefix(length);
  return digits;
}

Status Ambiguous(std::string_view text) {
  return Status(Code::kInvalid, Quoted(text) + " has a leading zero",
                "Remove the zero if it is a number, quote it if it is text");
}

// "+1.", ".5e3": the parts of a decimal number, or `is_number` false.
struct Decimal {
  bool is_number = false;
  bool negative = false;
  std::string_view whole, fraction, exponent;  // without sign, point and e; exponent with sign
  bool has_point = false;
};

Decimal SplitDecimal(std::string_view text) {
  Decimal d;
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) {
    d.negative = text[0] == '-';
    text.remove_prefix(1);
  }
  d.whole = TakeDigits(&text);
  if (!text.empty() && text[0] == '.') {
    d.has_point = true;
    text.remove_prefix(1);
    d.fraction = TakeDigits(&text);
  }
  if (d.whole.empty() && d.fraction.empty()) return d;
  if (!text.empty() && (text[0] == 'e' || text[0] == 'E')) {
    text.remove_prefix(1);
    if (!text.empty() && text[0] == '+') text.remove_prefix(1);
    const bool minus = !text.empty() && text[0] == '-';
    d.exponent = text;
    if (minus) text.remove_prefix(1);
    if (TakeDigits(&text).empty()) return d;
  }
  d.is_number = text.empty();
  return d;
}

Result<std::string> DecimalToJson(const Decimal& d, std::string_view text) {
  if (d.whole.size() > 1 && d.whole[0] == '0') return Ambiguous(text);
  std::string out = d.negative ? "-" : "";
  out += d.whole.empty() ? "0" : std::string(d.whole);
  if (d.has_point) out += "." + (d.fraction.empty() ? "0" : std::string(d.fraction));
  if (!d.exponent.empty()) out += "e" + std::string(d.exponent);
  if (out == "-0") out = "0";
  double value = 0;
  const auto [end, error] = std::from_chars(out.data(), out.data() + out.size(), value);
  if (error != std::errc()) {
    return Status(Code::kInvalid, Quoted(text) + " is too large or too small for a number",
                  "Quote it if it is text");
  }
  return out;
}

Result<std::string> BasedToJson(std::string_view text, int base) {
  int64_t value = 0;
  const char* last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data() + 2, last, value, base);
  if (error != std::errc() || end != last) {
    return Status(Code::kInvalid, Quoted(text) + " is too large for a number",
                  "Quote it if it is text");
  }
  return std::to_string(value);
}

bool OneOf(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

}  // namespace

std::string JsonString(std::string_view text) {
  // C1 controls, line and paragraph separators and the byte order mark: not printable in YAML 1.2.
  static constexpr std::array<std::string_view, 3> kEscaped = {"\xe2\x80\xa8", "\xe2\x80\xa9",
                                                               "\xef\xbb\xbf"};
  static constexpr std::array<std::string_view, 3> kEscapes = {"\\u2028", "\\u2029", "\\ufeff"};
  std::string out = "\"";
  for (size_t i = 0; i < text.size(); ++i) {
    const unsigned char c = static_cast<unsigned char>(text[i]);
    const unsigned char next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0;
    char escape[16] = "";
    if (c == '"' || c == '\\') {
      out += '\\';
      out += text[i];
      continue;
    }
    if (c == '\n' || c == '\t' || c == '\r') {
      out += c == '\n' ? "\\n" : c == '\t' ? "\\t" : "\\r";
      continue;
    }
    if (c < 0x20 || c == 0x7f) {
      std::snprintf(escape, sizeof escape, "\\u%04x", c);
    } else if (c == 0xc2 && next >= 0x80 && next < 0xa0) {
      std::snprintf(escape, sizeof escape, "\\u%04x", next);
      ++i;
    }
    for (size_t k = 0; k < kEscaped.size() && escape[0] == '\0'; ++k) {
      if (text.substr(i, 3) != kEscaped[k]) continue;
      std::snprintf(escape, sizeof escape, "%s", kEscapes[k].data());
      i += 2;
    }
    out += escape[0] != '\0' ? std::string(escape) : std::string(1, text[i]);
  }
  return out + "\"";
}

Result<std::string> PlainScalarToJson(std::string_view text) {
  if (OneOf(text, {"null", "Null", "NULL", "~", ""})) return std::string("null");
  if (OneOf(text, {"true", "True", "TRUE"})) return std::string("true");
  if (OneOf(text, {"false", "False", "FALSE"})) return std::string("false");
  const std::string_view unsigned_text =
      !text.empty() && (text[0] == '-' || text[0] == '+') ? text.substr(1) : text;
  if (OneOf(unsigned_text, {".inf", ".Inf", ".INF"}) || OneOf(text, {".nan", ".NaN", ".NAN"})) {
    return Status(Code::kInvalid, Quoted(text) + " has no form in JSON", "Quote it");
  }
  if (text.size() > 2 && text.substr(0, 2) == "0x" &&
      AllOf(text.substr(2), "0123456789abcdefABCDEF")) {
    return BasedToJson(text, 16);
  }
  if (text.size() > 2 && text.substr(0, 2) == "0o" && AllOf(text.substr(2), "01234567")) {
    return BasedToJson(text, 8);
  }
  if (const Decimal d = SplitDecimal(text); d.is_number) return DecimalToJson(d, text);
  return JsonString(text);
}

void RefuseLostColon(const YamlNode& key, const YamlNode& value, SpecReader* reader) {
  const size_t colon = key.text.find(':');
  if (!value.IsNull() || key.quoted || colon == std::string::npos) return;
  reader->Error(key, Quoted(key.text) + " is one word to YAML, without a value",
                "Put a blank behind its ':': '" + Printable(key.text.substr(0, colon)) + ": " +
                    Printable(key.text.substr(colon + 1)).substr(0, 40) + "'");
}

std::string NodeToJson(const YamlNode& node, SpecReader* reader) {
  switch (node.kind) {
    case YamlNode::Kind::kNull:
      return "null";
    case YamlNode::Kind::kScalar: {
      if (node.quoted) return JsonString(node.text);
      Result<std::string> json = PlainScalarToJson(node.text);
      if (json.ok()) return *std::move(json);
      reader->Error(node, json.status().message(), json.status().next());
      return "null";
    }
    case YamlNode::Kind::kList: {
      std::string out = "[";
      for (const YamlNode& item : node.items) {
        if (out.size() > 1) out += ",";
        out += NodeToJson(item, reader);
      }
      return out + "]";
    }
    case YamlNode::Kind::kMap:
      break;
  }
  std::string out = "{";
  for (const YamlEntry& entry : node.entries) {
    if (out.size() > 1) out += ",";
    RefuseLostColon(entry.key, entry.value, reader);
    out += JsonString(entry.key.text) + ":" + NodeToJson(entry.value, reader);
  }
  return out + "}";
}

}  // namespace stoker
