// SPDX-License-Identifier: Apache-2.0
#include "sys/child_process.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "sys/descriptors.h"

namespace stoker {
namespace {

constexpr size_t kStackBytes = 64 << 10;

// Shared with the child, which runs in our memory until it has exec'ed and takes none.
struct Child {
  const ChildCommand* command;
  pid_t parent;
  std::vector<char*> argv, env;
  std::vector<int> high;
  const char* step = "";
  int error = 0;
};

bool Place(Child& child) {
  const int count = static_cast<int>(child.high.size());
  child.step = "placing descriptors";
  for (int i = 0; i < count; ++i) {
    child.high[i] = fcntl(child.command->fds[i], F_DUPFD_CLOEXEC, count);
    if (child.high[i] < 0) return false;
  }
  for (int i = 0; i < count; ++i) {
    if (dup2(child.high[i], i) < 0) return false;
  }
  CloseFrom(count);
  child.step = child.command->cwd.c_str();
  return chdir(child.command->cwd.c_str()) == 0;
}

int RunChild(void* argument) {
  Child& child = *static_cast<Child*>(argument);
  setsid();
  if (child.command->die_with_thread) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != child.parent) _exit(127);
  }
  if (Place(child)) {
    child.step = child.command->program.c_str();
    ResetSignals();
    execve(child.command->program.c_str(), child.argv.data(), child.env.data());
  }
  child.error = errno;
  _exit(127);
}

std::vector<char*> Pointers(std::vector<std::string>& words) {
  std::vector<char*> out;
  for (std::string& word : words) out.push_back(word.data());
  out.push_back(nullptr);
  return out;
}

}  // namespace

Result<pid_t> SpawnChild(const ChildCommand& command) {
  std::vector<std::string> argv = command.argv, env = command.env;
  Child child;
  child.command = &command;
  child.parent = getpid();
  child.argv = Pointers(argv);
  child.env = Pointers(env);
  child.high.resize(command.fds.size());
  void* stack = mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (stack == MAP_FAILED) return ErrnoStatus("taking a stack for a new process", errno);
  // No handler of ours may run in the child: it would run in our memory.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t pid = clone(RunChild, static_cast<char*>(stack) + kStackBytes,
                          CLONE_VM | CLONE_VFORK | SIGCHLD, &child);
  const int clone_error = errno;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  munmap(stack, kStackBytes);
  if (pid < 0) return ErrnoStatus("making a process", clone_error);
  if (child.error == 0) return pid;
  while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  return ErrnoStatus(child.step, child.error);
}

}  // namespace stoker
