// SPDX-License-Identifier: Apache-2.0
#include "spec/text/env_text.h"

#include <algorithm>

#include "base/text.h"

namespace stoker {
namespace {

bool IsNameLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

std::string_view Strip(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

// Within double quotes \n, \" and \\ are what they are in C; within single ones nothing is.
std::string Unescaped(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out += text[i];
      continue;
    }
    const char next = text[++i];
    if (next != 'n' && next != '"' && next != '\\') out += '\\';
    out += next == 'n' ? '\n' : next;
  }
  return out;
}

std::string DotenvValue(std::string_view text) {
  text = Strip(text);
  if (!text.empty() && (text[0] == '"' || text[0] == '\'')) {
    size_t end = 1;
    while (end < text.size() && text[end] != text[0]) {
      end += text[end] == '\\' && text[0] == '"' ? 2 : 1;
    }
    if (end < text.size()) {
      const std::string_view inner = text.substr(1, end - 1);
      return text[0] == '"' ? Unescaped(inner) : std::string(inner);
    }
  }
  const size_t comment = std::min(text.find(" #"), text.find("\t#"));
  return std::string(Strip(text.substr(0, comment)));
}

}  // namespace

bool IsEnvName(std::string_view name) {
  return !name.empty() && name.size() <= 255 && IsNameLetter(name[0]) &&
         std::all_of(name.begin(), name.end(),
                     [](char c) { return IsNameLetter(c) || IsDigit(c); });
}

bool IsNamePattern(std::string_view text) {
  return text.find_first_of("*?") != std::string_view::npos;
}

bool MatchesName(std::string_view pattern, std::string_view name) {
  size_t p = 0;
  size_t n = 0;
  size_t star = std::string_view::npos;
  size_t after = 0;  // where in `name` the last star's characters end so far
  while (n < name.size()) {
    if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n]) && pattern[p] != '*') {
      ++p;
      ++n;
    } else if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      after = n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++after;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

EnvText ParseEnvText(std::string_view text, EnvStyle style) {
  EnvText out;
  int number = 0;
  for (const std::string& raw : Split(text, '\n')) {
    ++number;
    std::string_view line = raw;
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    std::string_view begin = Strip(line);
    if (begin.empty() || begin[0] == '#') continue;
    line.remove_prefix(line.find_first_not_of(" \t"));
    if (StartsWith(line, "export ")) line.remove_prefix(7);
    const size_t sign = line.find('=');
    const std::string name(Strip(line.substr(0, sign)));
    if (!IsEnvName(name)) {
      out.mistakes.push_back("line " + std::to_string(number) + ": is not NAME=VALUE");
    } else if (line.find('\0') != std::string_view::npos) {
      out.mistakes.push_back("line " + std::to_string(number) + ": holds a NUL byte");
    } else if (sign == std::string_view::npos) {
      out.lines.push_back({name, std::nullopt, number});
    } else {
      const std::string_view value = line.substr(sign + 1);
      const bool literal = style == EnvStyle::kLiteral;
      out.lines.push_back({name, literal ? std::string(value) : DotenvValue(value), number});
    }
  }
  return out;
}

}  // namespace stoker
