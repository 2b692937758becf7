// SPDX-License-Identifier: Apache-2.0
#include "client/submit/clone.h"

#include <unistd.h>

#include <utility>
#include <vector>

#include "base/text.h"
#include "sys/command.h"

namespace stoker::client {
namespace {

constexpr int64_t kWithinMs = 15 * 60'000;

// On one line.
std::string OnOneLine(const std::string& text) {
  std::vector<std::string> lines;
  for (const std::string& line : Split(text, '\n')) {
    if (!line.empty()) lines.push_back(Printable(line));
  }
  return CutText(Join(lines, "; "), 600);
}

class Git {
 public:
  explicit Git(std::string folder) : folder_(std::move(folder)) {
    for (char** at = environ; at != nullptr && *at != nullptr; ++at) {
      // What would point it elsewhere, as in a hook.
      const std::string_view entry = *at;
      const bool elsewhere = StartsWith(entry, "GIT_DIR=") || StartsWith(entry, "GIT_WORK_TREE=") ||
                             StartsWith(entry, "GIT_INDEX_FILE=");
      if (!elsewhere) env_.emplace_back(entry);
    }
  }

  Status Run(std::vector<std::string> words) {
    words.insert(words.begin(), {"git", "-C", folder_, "-c", "advice.detachedHead=false"});
    const auto ran = sys::RunCommands({{words, env_, "/dev/null", 1 << 20}}, kWithinMs).front();
    if (ran.status().Is(Code::kNotFound)) {
      return Status(Code::kUsage, "git is not installed: no repository can be cloned",
                    "Install it, or name a folder as 'workdir'");
    }
    STOKER_TRY(ran.status());
    if (ran->exit_code == 0) return Status::Ok();
    return Status(Code::kUsage, "git says: " + OnOneLine(ran->err));
  }

 private:
  const std::string folder_;
  std::vector<std::string> env_;
};

// A commit is not given by everybody who is asked for it alone; then all is fetched that has a
// name.
Status Fetch(Git& git, const Repository& repository) {
  const std::string ref = repository.ref.empty() ? "HEAD" : repository.ref;
  const Status alone = git.Run({"fetch", "-q", "--depth", "1", "--", repository.url, ref});
  if (alone.ok()) return git.Run({"checkout", "-q", "FETCH_HEAD", "--"});
  if (ref.find_first_not_of("0123456789abcdefABCDEF") != std::string::npos) return alone;
  const Status all = git.Run({"fetch", "-q", "--", repository.url, "+refs/heads/*:refs/stoker/b/*",
                              "+refs/tags/*:refs/tags/*"});
  if (!all.ok()) return alone;
  return git.Run({"checkout", "-q", ref, "--"});
}

}  // namespace

Result<Clone> CloneRepository(Client& client, const Repository& repository) {
  STOKER_TRY(CheckRepository(repository));
  STOKER_TRY(sys::MakeDirs(client.places().cache, 0700));
  STOKER_ASSIGN(sys::TempDir place, sys::TempDir::Make("stoker-pack-clone", client.places().cache));
  const std::string folder = place.path() + "/work";
  STOKER_TRY(sys::MakeDirs(folder, 0700));
  client.Progress("cloning " + Printable(repository.url) + " …");
  Git git(folder);
  const std::string what = "cloning " + Printable(WordOf(repository));
  STOKER_TRY(git.Run({"init", "-q"}).WithContext(what));
  STOKER_TRY(Fetch(git, repository).WithContext(what));
  if (sys::FileExists(folder + "/.gitmodules")) {
    STOKER_TRY(git.Run({"remote", "add", "origin", "--", repository.url}).WithContext(what));
    STOKER_TRY(git.Run({"submodule", "update", "-q", "--init", "--recursive", "--depth", "1"})
                   .WithContext(what));
  }
  return Clone{std::move(place), folder};
}

}  // namespace stoker::client
