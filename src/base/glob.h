// SPDX-License-Identifier: Apache-2.0
// One wildcard pattern of an ignore file, matched as git matches it (gitignore(5)).
#pragma once

#include <bitset>
#include <string>
#include <string_view>
#include <vector>

namespace stoker {

// Immutable after construction, so safe to share between threads. `*` and `?` do not match '/',
// `**` does where it stands alone between slashes, `[...]` knows ranges, negation and POSIX
// classes, `\` takes the next character as it is. A malformed pattern matches nothing, as in git.
class Glob {
 public:
  // Literal text before the first wildcard counts as a border for `**`, because git compares that
  // text by itself: "a**/b" is the same as "a" followed by "**/b".
  explicit Glob(std::string_view pattern);
  // The whole of `text`, bytewise and case-sensitive. Time is at most pattern × text.
  bool Matches(std::string_view text) const;
  bool valid() const { return valid_; }  // false: malformed

 private:
  enum class Kind : char {
    kLiteral,
    kAny,            // ?
    kClass,          // [...]
    kStar,           // anything without '/'
    kStarStar,       // anything
    kStarStarSlash,  // nothing, or anything that ends with '/'
  };
  struct Token {
    Kind kind = Kind::kLiteral;
    char literal = 0;
    size_t set = 0;  // index into classes_
  };

  void Compile(std::string_view pattern);
  // Both read from pattern[at] and leave `at` behind what they read; false: malformed.
  void CompileStars(std::string_view pattern, size_t& at, size_t border);
  bool CompileClass(std::string_view pattern, size_t& at);
  bool MatchesOne(const Token& token, char c) const;

  std::vector<Token> tokens_;
  std::vector<std::bitset<256>> classes_;
  bool valid_ = true;
};

}  // namespace stoker
