// SPDX-License-Identifier: Apache-2.0
#include "provider/agent/agent_keeper.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "sys/child_process.h"
#include "sys/task/process_table.h"

extern char** environ;

namespace stoker {
namespace {

constexpr int64_t kFirstBackoffMs = 25;
constexpr int64_t kLastBackoffMs = 2'000;
constexpr int64_t kHealthyMs = 10'000;
constexpr int64_t kLookAgainMs = 1'000;  // for what cannot be ended
constexpr int64_t kMostReason = 4096;
constexpr Duration kShimPatience = Duration::Seconds(2);
constexpr Duration kEndLimit = Duration::Seconds(15);

}  // namespace

int64_t BootMs() {
  timespec t{};
  clock_gettime(CLOCK_BOOTTIME, &t);
  return static_cast<int64_t>(t.tv_sec) * 1000 + t.tv_nsec / 1'000'000;
}

Result<sys::ScopedFd> TakeMachineSignals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signo : {SIGCHLD, SIGTERM}) sigaddset(&set, signo);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  for (const int signo : {SIGHUP, SIGINT, SIGPIPE, SIGQUIT}) signal(signo, SIG_IGN);
  sys::ScopedFd signals(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals.valid()) return ErrnoStatus("making a signal descriptor", errno);
  return signals;
}

Status AgentKeeper::Spawn() {
  ChildCommand command;
  command.program = facts_.program;
  command.argv = facts_.argv;
  command.cwd = facts_.dir;
  for (char** entry = environ; *entry != nullptr; ++entry) command.env.emplace_back(*entry);
  command.env.push_back(std::string(kInstanceMark) + "=" + facts_.dir);
  command.env.insert(command.env.end(), facts_.env.begin(), facts_.env.end());
  command.die_with_thread = true;
  command.fds = {0, 1, 2};
  sys::ScopedFd log, null;
  if (!facts_.log.empty()) {
    STOKER_ASSIGN(log, sys::Open(facts_.log, O_WRONLY | O_CREAT | O_APPEND, 0600));
    STOKER_ASSIGN(null, sys::Open("/dev/null", O_RDWR));
    command.fds = {null.get(), log.get(), log.get()};
  }
  STOKER_ASSIGN(pid_, SpawnChild(command));
  return Status::Ok();
}

void AgentKeeper::Start() {
  since_ = BootMs();
  const Status status = Spawn();
  if (status.ok()) return;
  say_("the agent does not start: " + status.ToString());
  BackOff();
}

void AgentKeeper::BackOff() {
  backoff_ = std::clamp(backoff_ * 2, kFirstBackoffMs, kLastBackoffMs);
  restart_at_ = BootMs() + backoff_;
}

std::string AgentKeeper::Reap() {
  int status = 0;
  if (pid_ == 0 || waitpid(pid_, &status, WNOHANG) != pid_) return "";
  pid_ = 0;
  dirty_ = true;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
    const std::string said = sys::ReadFile(facts_.dir + "/why", kMostReason).value_or("");
    return "the agent powered it off" + (said.empty() ? "" : ": " + said);
  }
  if (BootMs() - since_ >= kHealthyMs) backoff_ = 0;
  BackOff();
  say_(WIFSIGNALED(status) ? "the agent died of signal " + std::to_string(WTERMSIG(status))
                           : "the agent failed with " + std::to_string(WEXITSTATUS(status)));
  CleanUp();  // within the back-off
  return "";
}

void AgentKeeper::Restart() {
  if (pid_ != 0 || BootMs() < restart_at_) return;
  CleanUp();
  if (!dirty_) Start();
}

// Nothing of a dead agent may run beside the next one.
void AgentKeeper::CleanUp() {
  if (!dirty_) return;
  dirty_ = !EndMarkedProcesses(kInstanceMark, facts_.dir, kShimPatience, kEndLimit);
  EndNotedProcesses(facts_.dir);
  if (!dirty_) return;
  say_("processes of the dead agent cannot be ended; waiting for them");
  restart_at_ = BootMs() + kLookAgainMs;
}

void AgentKeeper::Signal(int signo) const {
  if (pid_ != 0) kill(pid_, signo);
}

bool AgentKeeper::End() {
  if (pid_ != 0) {
    kill(pid_, SIGKILL);
    while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
    pid_ = 0;
  }
  const bool ended = EndMarkedProcesses(kInstanceMark, facts_.dir, kShimPatience, kEndLimit);
  EndNotedProcesses(facts_.dir);
  return ended;
}

}  // namespace stoker
