// SPDX-License-Identifier: Apache-2.0
// Lines of a requirements file that name a git repository by something that may move: a branch, a
// tag, or nothing at all. Format: pip.pypa.io/en/stable/topics/vcs-support. Pure.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace stoker {

struct GitRequirement {
  std::string source;  // as the file has it, without "#egg=…": "git+https://host/x@main"
  std::string url;     // what git is asked, with ${NAME} as it stands there: "https://host/x"
  std::string ref;     // "" = what the repository has as HEAD
  bool operator==(const GitRequirement&) const = default;
};

// Each once, in their order. A line that names a whole commit is none of them.
std::vector<GitRequirement> MovingRequirements(std::string_view text);

// Other requirements and constraints files that it names, as they stand there; no addresses.
std::vector<std::string> IncludedRequirements(std::string_view text);

// The text with `commits` (by source) in the place of what may move, and each file that it names,
// those of --find-links included, as `place` says; what `place` returns "" for stays.
std::string PinnedRequirements(std::string_view text,
                               const std::map<std::string, std::string>& commits,
                               const std::function<std::string(const std::string& file)>& place);

// Of what `git ls-remote` printed, the commit that pip would take for `ref`: a branch's before a
// tag's. "" = there is none.
std::string CommitInAnswer(std::string_view answer, const std::string& ref);

// Whether it may be the beginning of a commit's name, which does not move.
bool MayBeCommit(std::string_view ref);

}  // namespace stoker
