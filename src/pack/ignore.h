// SPDX-License-Identifier: Apache-2.0
// Ignore files (.gitignore, .stokerignore) as gitignore(5) describes them: nested files, negation,
// anchors, directory-only patterns, and that nothing below an ignored directory comes back.
// Checked against `git check-ignore` in ignore_test.cc.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/glob.h"

namespace stoker::pack {

enum class Verdict { kNone, kIgnore, kKeep };

// The patterns of one file.
class IgnoreFile {
 public:
  explicit IgnoreFile(std::string_view text);
  // `path` is relative to the folder of the ignore file. The last pattern that matches decides.
  Verdict Decide(std::string_view path, bool is_dir) const;
  bool empty() const { return patterns_.empty(); }
  bool negates() const;  // has a line that begins with '!'

 private:
  struct Pattern {
    Glob glob;
    std::string literal;  // the pattern itself where it holds no wildcard: most do not
    bool plain = false;   // `literal` is all there is to compare
    bool negated = false;
    bool dir_only = false;
    bool anchored = false;  // holds a slash: matched against the path, not its last part
  };
  std::vector<Pattern> patterns_;
};

// All ignore files of one name in a tree. Paths are relative to the tree's root, '/'-separated.
class IgnoreTree {
 public:
  // `dir` is "" for the root. Files added for the same folder later take precedence over earlier.
  void Add(const std::string& dir, std::string_view text);
  bool empty() const { return files_.empty(); }
  bool negates() const { return negates_; }  // one of the files does
  // What they say of `path` itself, not of its folders.
  Verdict Decide(std::string_view path, bool is_dir) const;
  // Whether `path` itself is ignored, its folders not: for a walk from the top that does not enter
  // ignored folders.
  bool IgnoresEntry(std::string_view path, bool is_dir) const;

 private:
  std::map<std::string, std::vector<IgnoreFile>, std::less<>> files_;
  bool negates_ = false;
};

}  // namespace stoker::pack
