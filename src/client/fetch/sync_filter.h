// SPDX-License-Identifier: Apache-2.0
// Which files `stoker sync` takes: `--include` and `--exclude` as aws-cli means them. Pure.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace stoker::client {

// One --include or --exclude.
struct FilterRule {
  bool include = false;
  std::string pattern;
};

// A pattern is held against the whole key: '*' is anything, '/' too; '?' one character; [abc],
// [a-c] and [!a] one of some; everything else is itself. A '/' or './' in front is dropped, "a/./b"
// and "a//b" are "a/b", "folder/" is "folder/*". All files are taken, but for what a rule says: of
// those that match, the last counts.
class SyncFilter {
 public:
  // kUsage: a pattern has a '[' that is not closed.
  static Result<SyncFilter> Make(const std::vector<FilterRule>& rules);

  bool Takes(const std::string& key) const;
  // What the user should hear of, a line each: rules that match none of `keys` though they were
  // meant to, or that never can, as they begin with one of `sources`, and a mix that rclone would
  // read otherwise.
  std::vector<std::string> Remarks(const std::vector<std::string>& keys,
                                   const std::vector<std::string>& sources = {}) const;

 private:
  struct Token {
    enum class Kind : char { kOne, kAny, kStar, kClass } kind = Kind::kOne;
    char32_t one = 0;
    bool negated = false;
    std::vector<std::pair<char32_t, char32_t>> ranges;
  };
  using Pattern = std::vector<Token>;
  struct Rule {
    FilterRule given;
    std::string text;  // what of it counts
    Pattern pattern;
  };

  static Result<Pattern> Compile(const std::string& text);
  static bool Matches(const Pattern& pattern, const std::u32string& key);
  bool RcloneAgrees() const;

  std::vector<Rule> rules_;
};

}  // namespace stoker::client
