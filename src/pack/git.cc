// SPDX-License-Identifier: Apache-2.0
#include "pack/git.h"

#include <unistd.h>

#include <algorithm>

#include "base/text.h"
#include "pack/exclusions.h"
#include "sys/command.h"
#include "sys/file.h"

namespace stoker::pack {
namespace {

// Large repositories on slow disks take their time; more is a hang.
constexpr int64_t kTimeoutMs = 120'000;

// This process's environment without what would point git at another repository or change its
// output. Where the configuration lies is the user's to say.
std::vector<std::string> GitEnvironment() {
  std::vector<std::string> env;
  for (char** at = environ; at != nullptr && *at != nullptr; ++at) {
    const std::string_view entry = *at;
    const bool ours = StartsWith(entry, "GIT_") && !StartsWith(entry, "GIT_CONFIG_GLOBAL=") &&
                      !StartsWith(entry, "GIT_CONFIG_SYSTEM=") &&
                      !StartsWith(entry, "GIT_CONFIG_NOSYSTEM=") &&
                      !StartsWith(entry, "GIT_EXEC_PATH=");
    if (!ours && !StartsWith(entry, "LC_ALL=")) env.emplace_back(entry);
  }
  env.insert(env.end(), {"GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "LC_ALL=C"});
  return env;
}

sys::Command Git(const std::string& dir, std::vector<std::string> arguments, size_t max_output) {
  sys::Command command;
  // Without fsmonitor: it would leave a daemon behind.
  command.argv = {"git", "-C", dir, "-c", "core.fsmonitor=false"};
  command.argv.insert(command.argv.end(), arguments.begin(), arguments.end());
  command.env = GitEnvironment();
  command.max_output = max_output;
  return command;
}

// Records of `ls-files -z -s -t`: "H 100644 <hash> 0\t<path>", or "? <path>" for an untracked one.
// A conflicted path comes once a stage.
std::vector<GitFile> ParseFiles(std::string_view text) {
  std::vector<GitFile> files;
  while (!text.empty()) {
    const size_t end = text.find('\0');
    const std::string_view record = text.substr(0, end);
    text = end == std::string_view::npos ? "" : text.substr(end + 1);
    if (record.size() < 3) continue;
    GitFile file;
    if (record[0] == '?') {
      file.untracked = true;
      file.path = record.substr(2);
      file.repository = EndsWith(file.path, "/");
      if (file.repository) file.path.pop_back();
    } else {
      const size_t tab = record.find('\t');
      if (tab == std::string_view::npos) continue;
      file.path = record.substr(tab + 1);
      file.repository = StartsWith(record.substr(2), "160000");
    }
    if (IsSafeRelativePath(file.path)) files.push_back(std::move(file));
  }
  return files;
}

// The parts of a patch, each from its "diff --git" line on. Lines of content begin with ' ', '+',
// '-', '\' or '@', so that line cannot be content.
std::vector<std::string> PatchSections(std::string_view patch) {
  std::vector<std::string> sections;
  constexpr std::string_view kHead = "diff --git ";
  if (!StartsWith(patch, kHead)) return sections;
  size_t begin = 0;
  while (begin < patch.size()) {
    size_t next = patch.find("\ndiff --git ", begin);
    next = next == std::string_view::npos ? patch.size() : next + 1;
    sections.emplace_back(patch.substr(begin, next - begin));
    begin = next;
  }
  return sections;
}

// Output of `diff --raw -p -z`: ":<modes> <hashes> <status>\0<path>\0" each, an empty record, then
// the patch in the same order.
void ParseDiff(const sys::CommandOutput& output, GitAnswer& answer) {
  std::string_view text = output.out;
  while (StartsWith(text, ":")) {
    const size_t head = text.find('\0');
    const size_t path = head == std::string_view::npos ? head : text.find('\0', head + 1);
    if (path == std::string_view::npos) {
      text = "";  // cut off within a record
      break;
    }
    GitChange change;
    change.path = text.substr(head + 1, path - head - 1);
    change.deleted = text[head - 1] == 'D';
    answer.changes.push_back(std::move(change));
    text.remove_prefix(path + 1);
  }
  answer.diff_truncated = output.truncated;
  answer.changes_truncated = output.truncated && text.empty();
  if (output.truncated || answer.changes.empty()) return;
  if (StartsWith(text, std::string_view("\0", 1))) text.remove_prefix(1);
  std::vector<std::string> sections = PatchSections(text);
  // A conflict or a change of type has more or fewer parts than files: then which part belongs to
  // which file is unknown, and nothing of it may be recorded.
  if (sections.size() != answer.changes.size()) {
    answer.diff_truncated = true;
    return;
  }
  for (size_t i = 0; i < sections.size(); ++i) answer.changes[i].section = std::move(sections[i]);
}

// Asked of what may come to lie in these folders, at the top and in a folder that nobody has.
constexpr std::string_view kInFolder = "/stoker-looks";
constexpr std::string_view kAnyFolder = "stoker-looks-here/";

sys::Command AskDownloads(const std::string& dir) {
  std::vector<std::string> arguments = {"check-ignore", "--no-index", "--"};
  for (const char* name : kDownloads) {
    arguments.push_back(std::string(name) + std::string(kInFolder));
    arguments.push_back(std::string(kAnyFolder) + name + std::string(kInFolder));
  }
  return Git(dir, std::move(arguments), 1 << 16);
}

// "data/" for anywhere, "/data/" for the top alone; a line each.
std::string DownloadLines(const std::string& ignored) {
  const std::vector<std::string> paths = Split(ignored, '\n');
  const auto has = [&paths](const std::string& path) {
    return std::find(paths.begin(), paths.end(), path + std::string(kInFolder)) != paths.end();
  };
  std::string lines;
  for (const std::string name : kDownloads) {
    if (has(std::string(kAnyFolder) + name)) {
      lines += name + "/\n";
    } else if (has(name)) {
      lines += "/" + name + "/\n";
    }
  }
  return lines;
}

std::string FirstLine(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

std::string FindGitTop(const std::string& dir) {
  for (std::string at = dir;;) {
    if (sys::FileExists(at + "/.git")) return at.empty() ? "/" : at;
    const size_t slash = at.rfind('/');
    if (at.empty() || slash == std::string::npos) return "";
    at.resize(slash);
  }
}

Result<GitAnswer> AskGit(const std::string& dir, size_t max_diff) {
  std::vector<Result<sys::CommandOutput>> got = sys::RunCommands(
      {Git(dir, {"ls-files", "-c", "-o", "-s", "-z", "-t", "--exclude-standard"}, 1 << 30),
       Git(dir, {"rev-parse", "HEAD", "--symbolic-full-name", "HEAD"}, 1 << 13),
       Git(dir,
           {"diff", "--raw", "-p", "-z", "--relative", "--no-renames", "--no-ext-diff",
            "--no-textconv", "--no-color", "--submodule=short", "--src-prefix=a/",
            "--dst-prefix=b/", "HEAD", "--", "."},
           max_diff),
       AskDownloads(dir)},
      kTimeoutMs);
  const Result<sys::CommandOutput>& files = got[0];
  if (!files.ok()) return files.status();
  if (files->exit_code != 0 || files->truncated) {
    const std::string words = FirstLine(files->err);
    return Status(Code::kUnavailable,
                  words.empty() ? "git ended with code " + std::to_string(files->exit_code)
                                : Printable(words));
  }
  GitAnswer answer;
  answer.files = ParseFiles(files->out);
  // 1: none of them is ignored.
  if (got[3].ok() && got[3]->exit_code == 0) answer.downloads = DownloadLines(got[3]->out);
  // Before the first commit there is no HEAD to compare with.
  if (got[1].ok() && got[1]->exit_code == 0) {
    const std::vector<std::string> head = Split(got[1]->out, '\n');  // the second: its name
    constexpr std::string_view kBranch = "refs/heads/";
    answer.commit = head[0];
    if (head.size() > 1 && StartsWith(head[1], kBranch)) {
      answer.branch = head[1].substr(kBranch.size());
    }
    if (!got[2].ok()) return got[2].status();
    if (got[2]->exit_code != 0 && !got[2]->truncated) {
      return Status(Code::kUnavailable, Printable(FirstLine(got[2]->err)));
    }
    ParseDiff(*got[2], answer);
  }
  return answer;
}

Result<std::vector<std::string>> AskGitIgnored(const std::string& dir) {
  constexpr int64_t kPatienceMs = 10'000;  // only for a remark
  const auto got = sys::RunCommands(
      {Git(dir, {"ls-files", "-o", "-i", "-z", "--exclude-standard", "--directory"}, 64 << 20)},
      kPatienceMs);
  if (!got[0].ok()) return got[0].status();
  if (got[0]->exit_code != 0) {
    return Status(Code::kUnavailable, Printable(FirstLine(got[0]->err)));
  }
  std::vector<std::string> paths;
  for (std::string& path : Split(got[0]->out, '\0')) {
    const std::string plain = EndsWith(path, "/") ? path.substr(0, path.size() - 1) : path;
    if (IsSafeRelativePath(plain)) paths.push_back(std::move(path));
  }
  return paths;
}

}  // namespace stoker::pack
