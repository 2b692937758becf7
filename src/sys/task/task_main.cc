// SPDX-License-Identifier: Apache-2.0
#include "sys/task/task_main.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <iterator>

#include "sys/descriptors.h"
#include "sys/exec_child.h"

namespace stoker::shim {
namespace {

// Everything that the child needs until it has exec'ed, made before: no memory is taken there.
struct MainProgram {
  const char* program;
  const char* cwd;
  int cgroup_fd;  // of cgroup.procs; -1 = none
  bool die_with_shim;
  bool keeps_lock;
  pid_t shim;
  std::vector<char*> argv;
  std::vector<char*> env;
};

// The names of TaskStage in an ExecFailure.
constexpr const char* kStages[] = {"cwd", "cgroup", "exec"};

void RunMain(const MainProgram& main, ExecFailure& failure) {
  const auto fail = [&failure](TaskStage stage) {
    failure.error = errno;
    failure.step = kStages[stage];
  };
  if (main.cgroup_fd >= 0 && write(main.cgroup_fd, "0", 1) != 1) return fail(kStageCgroup);
  if (main.die_with_shim) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != main.shim) _exit(127);
  }
  setsid();
  if (chdir(main.cwd) != 0) return fail(kStageCwd);
  // Who is killed lets go of the lock, and not before.
  if (main.keeps_lock) {
    close(kControlFd);
    close(kStatusFd);
  }
  CloseFrom(main.keeps_lock ? kPayloadFd : kControlFd);
  ResetSignals();
  execve(main.program, main.argv.data(), main.env.data());
  fail(kStageExec);
}

}  // namespace

void Tell(TaskMessage::Kind kind, int32_t value, int32_t stage, int64_t peak) {
  const TaskMessage message{kind, value, stage, peak};
  while (write(kStatusFd, &message, sizeof message) < 0 && errno == EINTR) {
  }
}

bool IsCalled(const std::string& name) {
  char own[256] = {};
  return !name.empty() && gethostname(own, sizeof own - 1) == 0 && name == own;
}

pid_t StartMain(TaskPayload& payload, bool has_host_name) {
  MainProgram main{};
  main.program = payload.program.c_str();
  main.cwd = payload.cwd.c_str();
  main.die_with_shim =
      payload.mechanism == TaskMechanism::kCgroup || payload.mechanism == TaskMechanism::kSubreaper;
  main.keeps_lock = payload.lock >= 0;
  main.shim = getpid();
  for (std::string& arg : payload.argv) main.argv.push_back(arg.data());
  for (std::string& entry : payload.env) main.env.push_back(entry.data());
  for (std::string& entry :
       has_host_name ? payload.env_with_host_name : payload.env_without_host_name) {
    main.env.push_back(entry.data());
  }
  main.argv.push_back(nullptr);
  main.env.push_back(nullptr);
  main.cgroup_fd = -1;
  if (!payload.cgroup.empty()) {
    main.cgroup_fd = open((payload.cgroup + "/cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC);
    if (main.cgroup_fd < 0) {
      Tell(TaskMessage::kStartFailed, errno, kStageCgroup);
      return 0;
    }
  }
  ExecFailure failure;
  const auto pid = CloneAndExec(
      0, [&main](ExecFailure& out) { RunMain(main, out); }, &failure);
  if (main.cgroup_fd >= 0) close(main.cgroup_fd);
  if (pid.ok()) return *pid;
  int stage = kStageFork;
  for (int i = 0; i < static_cast<int>(std::size(kStages)); ++i) {
    if (failure.step == kStages[i]) stage = i;
  }
  Tell(TaskMessage::kStartFailed, failure.error != 0 ? failure.error : EAGAIN, stage);
  return 0;
}

bool Reap(pid_t main, const std::function<void(pid_t)>& ended) {
  while (true) {
    int status = 0;
    rusage used{};
    const pid_t pid = wait4(-1, &status, WNOHANG, &used);
    if (pid == main) Tell(TaskMessage::kExited, status, 0, int64_t{used.ru_maxrss} * 1024);
    if (pid == 0) return true;
    if (pid > 0 && pid != main && ended) ended(pid);
    if (pid < 0 && errno != EINTR) return false;
  }
}

int ArrangeSignals() {
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  for (int signo = 1; signo < 65; ++signo) {
    if (signo != SIGCHLD) sigaction(signo, &ignore, nullptr);
  }
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  sigprocmask(SIG_SETMASK, &set, nullptr);
  return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

}  // namespace stoker::shim
