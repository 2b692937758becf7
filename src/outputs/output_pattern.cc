// SPDX-License-Identifier: Apache-2.0
#include "outputs/output_pattern.h"

#include "base/text.h"

namespace stoker {

OutputPattern::OutputPattern(const OutputSpec& output)
    : text_(output.path), required_(output.required), whole_(output.path) {
  bool literal = true;
  const std::vector<std::string> parts = Split(text_, '/');
  for (size_t i = 0; i < parts.size(); ++i) {
    // In a pattern a backslash takes the next character as it is: the name is another one.
    const bool plain = !OutputSpec{parts[i]}.IsPattern() && parts[i].find('\\') == parts[i].npos;
    literal = literal && plain && i + 1 < parts.size();
    if (literal) folder_ += (i == 0 ? "" : "/") + parts[i];
    Glob part(parts[i]);
    // A slash within [...] ends no part: it is one of the characters that are meant there.
    open_ended_ = open_ended_ || parts[i].find("**") != std::string::npos || !part.valid();
    if (!open_ended_) parts_.push_back(std::move(part));
  }
}

bool OutputPattern::MatchesWhole(std::string_view path) const {
  return path == text_ || whole_.Matches(path);
}

bool OutputPattern::Matches(std::string_view path) const {
  for (size_t at = path.find('/'); at != std::string_view::npos; at = path.find('/', at + 1)) {
    if (MatchesWhole(path.substr(0, at))) return true;
  }
  return MatchesWhole(path);
}

bool OutputPattern::MayHold(std::string_view path) const {
  if (StartsWith(text_, std::string(path) + "/") || Matches(path)) return true;
  size_t part = 0;
  for (const std::string& name : Split(path, '/')) {
    if (part == parts_.size()) return open_ended_;
    if (!parts_[part++].Matches(name)) return false;
  }
  return part < parts_.size() || open_ended_;
}

}  // namespace stoker
