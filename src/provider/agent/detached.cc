// SPDX-License-Identifier: Apache-2.0
#include "provider/agent/detached.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "sys/file.h"
#include "sys/task/process_table.h"

extern char** environ;

namespace stoker {

std::vector<std::string> CleanEnvironment(const std::vector<std::string_view>& more) {
  std::vector<std::string_view> names = {kInstanceMark, kTaskMark};
  names.insert(names.end(), more.begin(), more.end());
  std::vector<std::string> out;
  for (char** at = environ; at != nullptr && *at != nullptr; ++at) {
    const std::string_view entry = *at;
    const std::string_view name = entry.substr(0, entry.find('='));
    if (std::find(names.begin(), names.end(), name) == names.end()) out.emplace_back(entry);
  }
  return out;
}

Status StartDetached(const ChildCommand& command) {
  STOKER_ASSIGN(const pid_t pid, SpawnChild(command));
  while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  return Status::Ok();
}

Status StartDetachedSelf(std::vector<std::string> argv, const std::string& log,
                         const std::vector<std::string_view>& more) {
  STOKER_ASSIGN(const sys::ScopedFd null, sys::Open("/dev/null", O_RDWR));
  STOKER_ASSIGN(const sys::ScopedFd out, sys::Open(log, O_WRONLY | O_CREAT | O_TRUNC, 0600));
  ChildCommand command;
  command.program = "/proc/self/exe";
  command.argv = std::move(argv);
  command.env = CleanEnvironment(more);
  command.cwd = "/";
  command.fds = {null.get(), out.get(), out.get()};
  return StartDetached(command);
}

}  // namespace stoker
