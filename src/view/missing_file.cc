// SPDX-License-Identifier: Apache-2.0
#include "view/missing_file.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "base/letter_case.h"
#include "base/text.h"

namespace stoker {
namespace {

// What Python, shells, C's strerror and libraries say. In small letters.
constexpr std::string_view kNotThere[] = {
    "no such file",   "not found",       "cannot open",    "can't open",      "could not open",
    "couldn't open",  "unable to open",  "failed to open", "does not exist",  "doesn't exist",
    "not exist",      "cannot find",     "can't find",     "could not find",  "couldn't find",
    "unable to find", "no rule to make", "enoent",         "no module named", "cannot stat",
    "cannot access",  "is missing"};

bool SaysNotThere(const std::string& line) {
  const std::string small = LowerCase(line);
  if (small.find("command not found") != std::string_view::npos) return false;  // in PATH
  return std::any_of(std::begin(kNotThere), std::end(kNotThere), [&](std::string_view words) {
    return small.find(words) != std::string_view::npos;
  });
}

// What may be a path in a line: what is between quotes, and words.
std::vector<std::string> Candidates(std::string_view line) {
  std::vector<std::string> found;
  for (size_t at = 0; at < line.size(); ++at) {
    if (line[at] != '\'' && line[at] != '"' && line[at] != '`') continue;
    size_t end = line.find(line[at], at + 1);
    if (end == std::string_view::npos && line[at] == '`') end = line.find('\'', at + 1);
    if (end != std::string_view::npos && end > at + 1)
      found.emplace_back(line.substr(at + 1, end - at - 1));
  }
  constexpr std::string_view kBetween = " \t\"'`:,;()[]<>=";
  for (size_t at = 0; at < line.size();) {
    const size_t begin = line.find_first_not_of(kBetween, at);
    if (begin == std::string_view::npos) break;
    at = std::min(line.find_first_of(kBetween, begin), line.size());
    std::string word(line.substr(begin, at - begin));
    while (!word.empty() && word.back() == '.') word.pop_back();
    found.push_back(std::move(word));
  }
  return found;
}

// As seen from the work directory; "" = it lies elsewhere, or is no path.
std::string Relative(std::string path) {
  if (StartsWith(path, "file://")) path = path.substr(7);
  if (StartsWith(path, "/")) {
    // A job's own copy lies in a folder of this name, wherever it runs; in the state folder, in one
    // that has the job's and the node's.
    const size_t work = path.rfind("/work/");
    if (work == std::string::npos) return "";
    const bool shared = EndsWith(path.substr(0, work), "/stoker");
    path = path.substr(work + 6);
    if (shared) path = path.substr(std::min(path.find('/'), path.size()));
  }
  std::vector<std::string> parts;
  for (const std::string& part : Split(path, '/')) {
    if (part.empty() || part == ".") continue;
    if (part != "..") {
      parts.push_back(part);
    } else if (!parts.empty()) {
      parts.pop_back();  // else from a folder within, which is not known
    }
  }
  return Join(parts, "/");
}

std::string Folder(const std::string& path) { return path.substr(0, path.rfind('/')); }

std::string Bare(const std::string& path) {
  return EndsWith(path, "/") ? path.substr(0, path.size() - 1) : path;
}

// As a word for a shell.
std::string Word(const std::string& text) {
  const bool plain = std::all_of(text.begin(), text.end(), [](char c) {
    return IsAlnum(c) || std::string_view("_./-+@,").find(c) != std::string_view::npos;
  });
  return plain ? text : ShellQuote(text);
}

// `path`, or where a program in a folder of the work directory asks for it, `entry`'s own.
std::string Matching(const std::string& path, const LeftOut& left) {
  const bool folder = EndsWith(left.path, "/");
  const std::string own = Bare(left.path);
  if (path == own || StartsWith(path, own + "/")) return path;
  return !folder && EndsWith("/" + own, "/" + path) ? own : "";
}

// "No module named 'conf.local'": the file, or the folder.
std::string ModulePath(const std::string& line, const std::string& word) {
  if (line.find("No module named") == std::string_view::npos ||
      word.find('/') != std::string_view::npos)
    return "";
  std::string path = word;
  std::replace(path.begin(), path.end(), '.', '/');
  return path;
}

std::optional<MissingFile> InLine(const std::string& line, const std::vector<LeftOut>& all) {
  for (const std::string& word : Candidates(line)) {
    std::vector<std::string> paths = {Relative(word)};
    if (const std::string module = ModulePath(line, word); !module.empty()) {
      paths = {module + ".py", module};
    }
    for (const std::string& path : paths) {
      if (path.empty() || path.size() > 4096) continue;
      for (const LeftOut& left : all) {
        const std::string match = Matching(path, left);
        if (match.empty()) continue;
        if (left.by == kByGit) return MissingFile{match, left.by, Folder(match)};
        const bool file = left.by == kByIgnoreFile;
        return MissingFile{match, left.by, file ? Bare(left.path) : ""};
      }
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<MissingFile> FindMissingFile(const Job& job, const std::vector<ReportSeen>& reports) {
  if (job.left_behind.empty() || job.state != JobState::kFailed || job.attempts.empty()) {
    return std::nullopt;
  }
  std::vector<std::string> texts;
  for (const ReportSeen& seen : reports) {
    if (seen.report.attempt == job.attempts.back().number) {
      texts.push_back(seen.report.stderr_tail);
    }
  }
  if (job.result) texts.push_back(job.result->why);
  for (const std::string& text : texts) {
    for (const std::string& line : Split(text, '\n')) {
      if (!SaysNotThere(line)) continue;
      if (auto found = InLine(line, job.left_behind)) return found;
    }
  }
  return std::nullopt;
}

std::string MissingFileText(const MissingFile& missing) {
  const std::string begin = Printable(missing.path) + " was left behind: ";
  if (missing.by == kByEnvironment) {
    return begin +
           "virtual environments are never packed; activate it before 'stoker run', or list its "
           "packages in requirements.txt";
  }
  if (missing.include.empty()) {
    return begin + "it is never packed, for it is made to hold secrets; --secret NAME passes one";
  }
  const std::string why = missing.by == kByIgnoreFile ? ".stokerignore names it" : "git ignores it";
  return begin + why + "; --include " + Word(Printable(missing.include)) + " takes it along";
}

}  // namespace stoker
