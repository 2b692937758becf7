// SPDX-License-Identifier: Apache-2.0
#include "base/glob.h"

#include <algorithm>
#include <optional>

namespace stoker {
namespace {

bool IsAlpha(int c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool IsDigit(int c) { return c >= '0' && c <= '9'; }
bool IsGraph(int c) { return c > ' ' && c < 127; }

// Membership in the POSIX class `name` in the C locale; nullopt when there is no such class.
std::optional<bool> InPosixClass(std::string_view name, int c) {
  if (name == "alnum") return IsAlpha(c) || IsDigit(c);
  if (name == "alpha") return IsAlpha(c);
  if (name == "blank") return c == ' ' || c == '\t';
  if (name == "cntrl") return c < ' ' || c == 127;
  if (name == "digit") return IsDigit(c);
  if (name == "graph") return IsGraph(c);
  if (name == "lower") return c >= 'a' && c <= 'z';
  if (name == "print") return IsGraph(c) || c == ' ';
  if (name == "punct") return IsGraph(c) && !IsAlpha(c) && !IsDigit(c);
  if (name == "space") return c == ' ' || (c >= '\t' && c <= '\r');
  if (name == "upper") return c >= 'A' && c <= 'Z';
  if (name == "xdigit") return IsDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
  return std::nullopt;
}

}  // namespace

Glob::Glob(std::string_view pattern) { Compile(pattern); }

void Glob::Compile(std::string_view pattern) {
  const size_t first = pattern.find_first_of("*?[\\");
  const size_t border = first == std::string_view::npos ? pattern.size() : first;
  for (size_t at = 0; at < pattern.size() && valid_;) {
    char c = pattern[at];
    if (c == '*') {
      CompileStars(pattern, at, border);
    } else if (c == '[') {
      valid_ = CompileClass(pattern, at);
    } else if (c == '?') {
      tokens_.push_back({Kind::kAny});
      ++at;
    } else {
      if (c == '\\' && ++at == pattern.size()) {
        valid_ = false;  // nothing to take as it is
        break;
      }
      tokens_.push_back({Kind::kLiteral, pattern[at++]});
    }
  }
}

void Glob::CompileStars(std::string_view pattern, size_t& at, size_t border) {
  const size_t begin = at;
  while (at < pattern.size() && pattern[at] == '*') ++at;
  const bool left = begin == border || begin == 0 || pattern[begin - 1] == '/';
  const bool ends = at == pattern.size();
  const bool slash = !ends && pattern[at] == '/';
  const bool escaped_slash = pattern.substr(at, 2) == "\\/";
  if (at - begin < 2 || !left || !(ends || slash || escaped_slash)) {
    tokens_.push_back({Kind::kStar});
  } else if (slash) {
    tokens_.push_back({Kind::kStarStarSlash});
    ++at;
  } else {
    tokens_.push_back({Kind::kStarStar});
  }
}

bool Glob::CompileClass(std::string_view pattern, size_t& at) {
  std::bitset<256> set;
  auto next = [&]() -> int {
    return at < pattern.size() ? static_cast<unsigned char>(pattern[at++]) : -1;
  };
  ++at;  // the '['
  int c = next();
  const bool negated = c == '!' || c == '^';
  if (negated) c = next();
  int previous = -1;
  do {
    if (c < 0) return false;
    const bool has_next = at < pattern.size();
    if (c == '-' && previous >= 0 && has_next && pattern[at] != ']') {
      c = next();
      if (c == '\\') c = next();
      if (c < 0) return false;
      for (int i = previous; i <= c; ++i) set.set(static_cast<size_t>(i));
      previous = -1;  // "a-c-e" is a range and two characters
    } else if (c == '[' && has_next && pattern[at] == ':') {
      const size_t close = pattern.find(']', at + 1);
      if (close == std::string_view::npos) return false;
      if (close == at + 1 || pattern[close - 1] != ':') {
        set.set('[');  // no class after all: '[' is a member like any other
        previous = '[';
      } else {
        const std::string_view name = pattern.substr(at + 1, close - at - 2);
        for (int i = 0; i < 256; ++i) {
          std::optional<bool> in = InPosixClass(name, i);
          if (!in.has_value()) return false;
          if (*in) set.set(static_cast<size_t>(i));
        }
        at = close + 1;
        previous = -1;
      }
    } else {
      if (c == '\\') c = next();
      if (c < 0) return false;
      set.set(static_cast<size_t>(c));
      previous = c;
    }
    c = next();
  } while (c != ']');
  if (negated) set.flip();
  set.reset('/');  // in a path a class never matches the separator
  tokens_.push_back({Kind::kClass, 0, classes_.size()});
  classes_.push_back(set);
  return true;
}

bool Glob::MatchesOne(const Token& token, char c) const {
  switch (token.kind) {
    case Kind::kLiteral:
      return token.literal == c;
    case Kind::kAny:
      return c != '/';
    case Kind::kClass:
      return classes_[token.set].test(static_cast<unsigned char>(c));
    default:
      return false;
  }
}

// A set of token positions is carried over the text, one character at a time: no pattern can make
// it slow, which matters because ignore files come from anywhere.
bool Glob::Matches(std::string_view text) const {
  if (!valid_) return false;
  const size_t count = tokens_.size();
  std::vector<char> now(count + 1, 0);
  std::vector<char> then(count + 1, 0);
  // A wildcard that may match nothing passes its position on.
  auto spread = [&](std::vector<char>& set) {
    for (size_t i = 0; i < count; ++i) {
      if (set[i] != 0 && (tokens_[i].kind == Kind::kStar || tokens_[i].kind == Kind::kStarStar ||
                          (tokens_[i].kind == Kind::kStarStarSlash && set[i] == 1))) {
        if (set[i + 1] == 0) set[i + 1] = 1;
      }
    }
  };
  now[0] = 1;
  spread(now);
  for (char c : text) {
    std::fill(then.begin(), then.end(), 0);
    for (size_t i = 0; i < count; ++i) {
      if (now[i] == 0) continue;
      const Token& token = tokens_[i];
      if (token.kind == Kind::kStar) {
        if (c != '/') then[i] = 1;
      } else if (token.kind == Kind::kStarStar) {
        then[i] = 1;
      } else if (token.kind == Kind::kStarStarSlash) {
        // 2: inside the wildcard, so that it can only be left behind a '/'.
        if (then[i] == 0) then[i] = 2;
        if (c == '/') then[i + 1] = 1;
      } else if (MatchesOne(token, c)) {
        then[i + 1] = 1;
      }
    }
    spread(then);
    now.swap(then);
  }
  return now[count] != 0;
}

}  // namespace stoker
