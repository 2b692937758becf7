// SPDX-License-Identifier: Apache-2.0
#include "sys/container/engine_child.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include <cerrno>
#include <chrono>
#include <thread>

#include "sys/child_process.h"
#include "sys/container/engines.h"
#include "sys/file.h"

namespace stoker {
namespace {

constexpr int64_t kStepMs = 20;
constexpr int64_t kEndWithinMs = 1000;
constexpr size_t kMostSaid = 64 << 10;

}  // namespace

Result<std::unique_ptr<EngineChild>> EngineChild::Start(const std::vector<std::string>& argv,
                                                        const std::string& folder) {
  const std::string said = folder + "/said";
  STOKER_ASSIGN(const sys::ScopedFd out, sys::Open(said, O_WRONLY | O_CREAT | O_TRUNC, 0600));
  STOKER_ASSIGN(const sys::ScopedFd in, sys::Open("/dev/null", O_RDONLY));
  ChildCommand command;
  command.program = argv[0];
  command.argv = argv;
  command.env = EngineEnvironment();
  command.cwd = folder;
  command.fds = {in.get(), out.get(), out.get()};
  STOKER_ASSIGN(const pid_t pid, SpawnChild(command));
  return std::unique_ptr<EngineChild>(new EngineChild(pid, said));
}

EngineChild::~EngineChild() { End(kEndWithinMs); }

std::optional<int> EngineChild::Ended() {
  if (code_) return code_;
  int status = 0;
  pid_t got;
  while ((got = waitpid(pid_, &status, WNOHANG)) < 0 && errno == EINTR) {
  }
  if (got == 0) return std::nullopt;
  code_ = got < 0 ? 0 : WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return code_;
}

std::string EngineChild::Said() const { return sys::ReadFile(said_, kMostSaid).value_or(""); }

void EngineChild::End(int64_t within_ms) {
  for (int64_t waited = 0; waited < within_ms && !Ended(); waited += kStepMs) {
    std::this_thread::sleep_for(std::chrono::milliseconds(kStepMs));
  }
  if (!Ended()) {
    kill(pid_, SIGKILL);
    while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
    code_ = 128 + SIGKILL;
  }
  for (const ProcessStat& one : helpers_) {
    const auto now = ReadProcessStat(one.pid);
    if (now && now->start_ticks == one.start_ticks) kill(one.pid, SIGKILL);
  }
  helpers_.clear();
  if (!noted_.empty()) (void)NoteProcesses(noted_, {});
}

void EngineChild::NoteHelpers(const std::string& folder) {
  helpers_ = DescendantsOf(pid_, ListProcesses());
  noted_ = folder;
  (void)NoteProcesses(folder, helpers_);
}

}  // namespace stoker
