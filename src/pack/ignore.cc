// SPDX-License-Identifier: Apache-2.0
#include "pack/ignore.h"

#include <algorithm>

#include "base/text.h"

namespace stoker::pack {
namespace {

// Without trailing blanks, unless a backslash is before them.
std::string_view TrimBlanks(std::string_view line) {
  size_t end = 0;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\\') {
      ++i;
      end = std::min(i + 1, line.size());
    } else if (line[i] != ' ') {
      end = i + 1;
    }
  }
  return line.substr(0, end);
}

std::string_view LastPart(std::string_view path) {
  size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

}  // namespace

IgnoreFile::IgnoreFile(std::string_view text) {
  if (StartsWith(text, "\xef\xbb\xbf")) text.remove_prefix(3);
  while (!text.empty()) {
    size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? "" : text.substr(end + 1);
    if (line.empty() || line[0] == '#') continue;
    if (line.back() == '\r') line.remove_suffix(1);
    // git reads its lines as C strings.
    line = TrimBlanks(line.substr(0, line.find('\0')));
    bool negated = false;
    bool dir_only = false;
    if (StartsWith(line, "!")) {
      negated = true;
      line.remove_prefix(1);
    }
    if (EndsWith(line, "/")) {
      dir_only = true;
      line.remove_suffix(1);
    }
    const bool anchored = line.find('/') != std::string_view::npos;
    if (StartsWith(line, "/")) line.remove_prefix(1);
    if (line.empty()) continue;
    const bool plain = line.find_first_of("*?[\\") == std::string_view::npos;
    patterns_.push_back(
        {Glob(plain ? "" : line), std::string(line), plain, negated, dir_only, anchored});
  }
}

bool IgnoreFile::negates() const {
  return std::any_of(patterns_.begin(), patterns_.end(),
                     [](const Pattern& pattern) { return pattern.negated; });
}

Verdict IgnoreFile::Decide(std::string_view path, bool is_dir) const {
  const std::string_view last = LastPart(path);
  for (auto pattern = patterns_.rbegin(); pattern != patterns_.rend(); ++pattern) {
    if (pattern->dir_only && !is_dir) continue;
    const std::string_view subject = pattern->anchored ? path : last;
    const bool matches =
        pattern->plain ? pattern->literal == subject : pattern->glob.Matches(subject);
    if (matches) return pattern->negated ? Verdict::kKeep : Verdict::kIgnore;
  }
  return Verdict::kNone;
}

void IgnoreTree::Add(const std::string& dir, std::string_view text) {
  IgnoreFile file(text);
  negates_ = negates_ || file.negates();
  if (!file.empty()) files_[dir].push_back(std::move(file));
}

bool IgnoreTree::IgnoresEntry(std::string_view path, bool is_dir) const {
  return Decide(path, is_dir) == Verdict::kIgnore;
}

Verdict IgnoreTree::Decide(std::string_view path, bool is_dir) const {
  if (files_.empty()) return Verdict::kNone;
  // The nearest folder first; the first file that has an opinion decides.
  size_t cut = path.rfind('/');
  while (true) {
    const std::string_view dir = cut == std::string_view::npos ? "" : path.substr(0, cut);
    auto found = files_.find(dir);
    if (found != files_.end()) {
      const std::string_view below = dir.empty() ? path : path.substr(dir.size() + 1);
      for (auto file = found->second.rbegin(); file != found->second.rend(); ++file) {
        Verdict verdict = file->Decide(below, is_dir);
        if (verdict != Verdict::kNone) return verdict;
      }
    }
    if (cut == std::string_view::npos) return Verdict::kNone;
    cut = cut == 0 ? std::string_view::npos : path.rfind('/', cut - 1);
  }
}

}  // namespace stoker::pack
