// SPDX-License-Identifier: Apache-2.0
#include "node/env/pip_words.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/text.h"

namespace stoker::node {
namespace {

constexpr size_t kShown = 600;
constexpr size_t kMostCompilerErrors = 2;
constexpr size_t kMostAfter = 2;  // lines that go on with an exception's words

// Without the spaces and the frame of "  │ exit code: 1".
std::string Bare(std::string_view line) {
  const size_t begin = line.find_first_not_of(" \t\r");
  if (begin == std::string::npos) return "";
  return Printable(line.substr(begin, line.find_last_not_of(" \t\r") - begin + 1));
}

bool Has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

// Between uv's "[stdout]" or "[stderr]" and its end, or pip's "[12 lines of output]" and "[end of
// output]", of which the last is why it failed; before pip 22 between "Complete output (12 lines):"
// and a line of dashes. What is not indented is pip's own and came by its other pipe.
struct Block {
  std::string during;  // "Building wheel for x (pyproject.toml)"
  std::vector<std::string> lines;
};

// "building x==1" of uv's "Failed to download and build `x==1`".
std::string BuiltByUv(const std::string& line) {
  const size_t begin = line.find("build `");
  if (begin == std::string::npos || !Has(line, "Failed to ")) return "";
  const size_t name = begin + std::string_view("build `").size();
  return "building " + line.substr(name, line.find('`', name) - name);
}

Block LastBlock(std::string_view output) {
  Block last;
  Block open;
  bool inside = false;
  for (const std::string& raw : Split(std::string(output), '\n')) {
    const std::string line = Bare(raw);
    if (inside && !line.empty() && !StartsWith(raw, "    ")) continue;
    const bool begins = EndsWith(line, " of output]") || StartsWith(line, "Complete output") ||
                        line == "[stdout]" || line == "[stderr]";
    if (!begins && inside && !StartsWith(line, "[end of output]") && !StartsWith(line, "------")) {
      open.lines.push_back(line);
      continue;
    }
    if (inside && !begins) last = std::exchange(open, Block());
    inside = begins;
    if (const std::string built = BuiltByUv(line); !built.empty()) open.during = built;
    constexpr std::string_view kDuring = " did not run successfully.";
    const size_t cross = line.find("× ");
    if (cross != std::string::npos && EndsWith(line, kDuring)) {
      const size_t begin = cross + std::string_view("× ").size();
      open.during = line.substr(begin, line.size() - kDuring.size() - begin);
    }
  }
  return last.lines.empty() ? open : last;
}

bool IsCompilerError(const std::string& line) {
  return Has(line, ": error: ") || Has(line, ": fatal error: ") || StartsWith(line, "CMake Error");
}

// "ModuleNotFoundError: …", "a.b.SomeException: …", "error: …", "fatal: …", "error in x …".
bool IsException(const std::string& line) {
  if (StartsWith(line, "error in ")) return true;
  const std::string name = line.substr(0, line.find(':'));
  if (name.size() == line.size() && !EndsWith(name, "Error")) return false;
  const bool word = std::all_of(name.begin(), name.end(),
                                [](char c) { return IsAlnum(c) || c == '_' || c == '.'; });
  return word && (Has(name, "Error") || Has(name, "Exception") || name == "error" ||
                  name == "fatal" || name == "ERROR" || name == "SystemExit");
}

std::string Joined(const std::vector<std::string>& lines) {
  std::string all = Join(lines, " / ");
  // A sentence follows, and brings its own.
  if (EndsWith(all, ".") && !EndsWith(all, "..")) all.pop_back();
  const std::string cut = CutText(all, kShown);
  return cut.size() == all.size() ? all : cut + "…";
}

std::vector<std::string> ErrorLines(const std::vector<std::string>& block) {
  std::vector<std::string> lines;
  for (const std::string& line : block) {
    if (IsCompilerError(line) && lines.size() < kMostCompilerErrors) lines.push_back(line);
  }
  if (!lines.empty()) return lines;
  const auto last = std::find_if(block.rbegin(), block.rend(), IsException);
  auto from = last == block.rend() ? block.begin() : last.base() - 1;
  std::vector<std::string> rest;
  std::copy_if(from, block.end(), std::back_inserter(rest),
               [](const std::string& line) { return !line.empty(); });
  const size_t most = 1 + kMostAfter;
  if (rest.size() <= most) return rest;
  // Of an exception the beginning, of what is none the end.
  if (last == block.rend()) return {rest.end() - static_cast<ptrdiff_t>(most), rest.end()};
  return {rest.begin(), rest.begin() + static_cast<ptrdiff_t>(most)};
}

}  // namespace

std::string PackageErrors(std::string_view output) {
  const Block block = LastBlock(output);
  std::vector<std::string> lines = ErrorLines(block.lines);
  if (lines.empty()) return "";
  if (!block.during.empty()) lines[0] = block.during + ": " + lines[0];
  return Joined(lines);
}

std::string WhyPipFailed(std::string_view output) {
  if (std::string words = PackageErrors(output); !words.empty()) return words;
  std::vector<std::string> lines;
  bool found = false;
  for (const std::string& raw : Split(std::string(output), '\n')) {
    const std::string line = Bare(raw);
    if (line.empty() || StartsWith(line, "[notice]")) continue;
    if (!found && (StartsWith(line, "ERROR") || StartsWith(raw, "error: "))) {
      found = true;
      lines.clear();
    }
    lines.push_back(line);
    if (!found && lines.size() > 3) lines.erase(lines.begin());
  }
  return Joined(lines);
}

std::string GitAdvice(std::string_view output) {
  // In the words of git, setuptools_scm and what is built on it, pbr, dunamai, pdm, versioningit,
  // GitPython, and of a setup.py that asks git by itself.
  constexpr std::string_view kSigns[] = {"not a git repository",
                                         "unable to detect version",
                                         "upstream git repository",
                                         "Unable to detect version control system",
                                         "SCM isn't detected",
                                         "InvalidGitRepositoryError",
                                         "NotVCSError",
                                         "Command '['git'",
                                         "Command \"git ",
                                         "This does not appear to be a Git project"};
  const Block block = LastBlock(output);
  const std::string text = block.lines.empty() ? std::string(output) : Join(block.lines, "\n");
  if (std::none_of(std::begin(kSigns), std::end(kSigns),
                   [&](std::string_view sign) { return Has(text, sign); })) {
    return "";
  }
  constexpr std::pair<std::string_view, std::string_view> kVariables[] = {
      {"SETUPTOOLS_SCM_PRETEND_VERSION", "SETUPTOOLS_SCM_PRETEND_VERSION"},
      {"setuptools_scm", "SETUPTOOLS_SCM_PRETEND_VERSION"},
      {"setuptools-scm", "SETUPTOOLS_SCM_PRETEND_VERSION"},
      {"pbr", "PBR_VERSION"},
      {"poetry_dynamic_versioning", "POETRY_DYNAMIC_VERSIONING_BYPASS"},
      {"uv_dynamic_versioning", "UV_DYNAMIC_VERSIONING_BYPASS"},
      {"pdm", "PDM_BUILD_SCM_VERSION"}};
  std::string name;
  for (const auto& [sign, variable] : kVariables) {
    if (name.empty() && Has(text, sign)) name = variable;
  }
  const std::string known =
      "$STOKER_GIT_COMMIT, $STOKER_GIT_BRANCH and $STOKER_GIT_DIRTY say what was packed";
  if (!name.empty()) {
    return "A job's folder has no .git, which the version is taken from: give it with --env " +
           name + "=1.2.3 (under 'envs' in the job file); " + known;
  }
  return "A job's folder has no .git, which this build asks: " + known +
         ", and 'setup' can make a repository first: git init -q && git add -A && git -c "
         "user.name=j -c user.email=j@j commit -qm packed";
}

}  // namespace stoker::node
