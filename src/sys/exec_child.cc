// SPDX-License-Identifier: Apache-2.0
#include "sys/exec_child.h"

#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <new>

namespace stoker {

Result<pid_t> CloneAndExec(int flags, const std::function<void(ExecFailure&)>& body,
                           ExecFailure* failure) {
  void* page =
      mmap(nullptr, sizeof(ExecFailure), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return ErrnoStatus("taking memory for a new process", errno);
  ExecFailure* shared = new (page) ExecFailure;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  // The system call itself, because the C library's fork takes no flags and runs atfork handlers.
  // CLONE_VFORK: this thread goes on when the child has exec'ed or ended.
  const auto pid =
      static_cast<pid_t>(syscall(SYS_clone, flags | CLONE_VFORK | SIGCHLD, 0, 0, 0, 0));
  if (pid == 0) {
    body(*shared);
    _exit(127);
  }
  const int clone_error = errno;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  const ExecFailure outcome = *shared;
  munmap(page, sizeof(ExecFailure));
  if (failure != nullptr) *failure = outcome;
  if (pid < 0) return ErrnoStatus("making a process", clone_error);
  if (outcome.error == 0) return pid;
  while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  return ErrnoStatus(outcome.step, outcome.error);
}

}  // namespace stoker
