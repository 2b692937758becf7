// SPDX-License-Identifier: Apache-2.0
#include "spec/text/git/git_requirements.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace stoker {
namespace {

constexpr std::string_view kBlank = " \t\r";

bool IsHex(std::string_view text) {
  return text.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
}

// Where a comment begins: at a '#' at the start or after a space.
size_t CommentAt(std::string_view line) {
  for (size_t at = line.find('#'); at != std::string_view::npos; at = line.find('#', at + 1)) {
    if (at == 0 || kBlank.find(line[at - 1]) != std::string_view::npos) return at;
  }
  return line.size();
}

struct GitWord {
  size_t at = 0;  // of the source in the line
  GitRequirement requirement;
};

// "git+<url>[@ref][#…]" behind a space, "name @ ", "-e", or "--editable=".
bool FindGit(std::string_view line, GitWord* found) {
  line = line.substr(0, CommentAt(line));
  const size_t at = line.find("git+");
  if (at == std::string_view::npos) return false;
  const bool begins = at == 0 || (kBlank.find(line[at - 1]) != std::string_view::npos) ||
                      line[at - 1] == '@' || line[at - 1] == '=' || line.substr(0, at) == "-e";
  if (!begins) return false;
  std::string_view word = line.substr(at);
  word = word.substr(0, word.find_first_of(" \t\r\\"));
  word = word.substr(0, word.find('#'));
  if (!word.empty() && word.back() == ';') word.remove_suffix(1);
  const std::string_view url = word.substr(4);
  // An '@' before the path is a user's name.
  const size_t scheme = url.find("://");
  const size_t path = scheme == std::string_view::npos ? url.find(':') : url.find('/', scheme + 3);
  if (path == std::string_view::npos) return false;
  const size_t mark = url.rfind('@');
  const bool has_ref = mark != std::string_view::npos && mark > path;
  found->at = at;
  found->requirement.source = word;
  found->requirement.url = url.substr(0, has_ref ? mark : url.size());
  found->requirement.ref = has_ref ? url.substr(mark + 1) : "";
  const std::string& ref = found->requirement.ref;
  return !(IsHex(ref) && (ref.size() == 40 || ref.size() == 64));
}

// "-r more.txt", "-rmore.txt", "--requirement more.txt", "--requirement=more.txt": the option, and
// what it names, without an address.
bool FindFile(std::string_view line, bool links, std::pair<std::string, std::string>* found) {
  line = line.substr(0, CommentAt(line));
  const size_t begin = line.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return false;
  line.remove_prefix(begin);
  for (const std::string_view name :
       {"--requirement", "--constraint", "--find-links", "-r", "-c", "-f"}) {
    if (!StartsWith(line, name) || (!links && name.find('f') != std::string_view::npos)) continue;
    std::string_view rest = line.substr(name.size());
    const bool apart = !rest.empty() && (rest[0] == '=' || kBlank.find(rest[0]) != rest.npos);
    if (name.size() > 2 && !apart) continue;
    const size_t value = rest.find_first_not_of(" \t\r=");
    if (value == std::string_view::npos) return false;
    rest.remove_prefix(value);
    rest = rest.substr(0, rest.find_last_not_of(" \t\r\\") + 1);
    if (rest.size() > 1 && (rest[0] == '"' || rest[0] == '\'') && rest.back() == rest[0]) {
      rest = rest.substr(1, rest.size() - 2);
    }
    if (rest.empty() || rest.find("://") != std::string_view::npos) return false;
    *found = {std::string(name), std::string(rest)};
    return true;
  }
  return false;
}

}  // namespace

std::vector<GitRequirement> MovingRequirements(std::string_view text) {
  std::vector<GitRequirement> moving;
  for (const std::string& line : Split(text, '\n')) {
    GitWord found;
    if (!FindGit(line, &found)) continue;
    if (std::find(moving.begin(), moving.end(), found.requirement) == moving.end()) {
      moving.push_back(std::move(found.requirement));
    }
  }
  return moving;
}

std::vector<std::string> IncludedRequirements(std::string_view text) {
  std::vector<std::string> files;
  for (const std::string& line : Split(text, '\n')) {
    std::pair<std::string, std::string> found;
    if (FindFile(line, false, &found)) files.push_back(found.second);
  }
  return files;
}

std::string PinnedRequirements(std::string_view text,
                               const std::map<std::string, std::string>& commits,
                               const std::function<std::string(const std::string& file)>& place) {
  std::vector<std::string> lines = Split(text, '\n');
  for (std::string& line : lines) {
    GitWord git;
    std::pair<std::string, std::string> file;
    if (FindGit(line, &git)) {
      const auto known = commits.find(git.requirement.source);
      if (known == commits.end() || known->second.empty()) continue;
      line.replace(git.at, git.requirement.source.size(),
                   "git+" + git.requirement.url + "@" + known->second);
    } else if (FindFile(line, true, &file)) {
      const std::string to = place(file.second);
      if (!to.empty()) line = file.first + " " + ShellQuote(to);
    }
  }
  return Join(lines, "\n");
}

std::string CommitInAnswer(std::string_view answer, const std::string& ref) {
  std::map<std::string, std::string> commits;
  for (const std::string& line : Split(answer, '\n')) {
    const size_t tab = line.find('\t');
    if (tab == std::string::npos || tab < 40 || !IsHex(line.substr(0, tab))) continue;
    commits[line.substr(tab + 1)] = line.substr(0, tab);
  }
  const std::vector<std::string> names =
      ref.empty() ? std::vector<std::string>{"HEAD"}
                  : std::vector<std::string>{"refs/heads/" + ref, "refs/tags/" + ref + "^{}",
                                             "refs/tags/" + ref, ref + "^{}", ref};
  for (const std::string& name : names) {
    if (const auto found = commits.find(name); found != commits.end()) return found->second;
  }
  return "";
}

bool MayBeCommit(std::string_view ref) { return ref.size() >= 4 && ref.size() <= 64 && IsHex(ref); }

}  // namespace stoker
