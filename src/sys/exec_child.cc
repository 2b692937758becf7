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

#ifdef __SANITIZE_THREAD__
// ThreadSanitizer's own account of a fork, which a system call made by hand passes by: it has to
// be told, or the child's calls wait for locks of its runtime that other threads held.
extern "C" void __sanitizer_syscall_pre_impl_fork();
extern "C" void __sanitizer_syscall_post_impl_fork(long result);
#endif

namespace stoker {
namespace {

// The system call itself, because the C library's fork takes no flags and runs atfork handlers.
// CLONE_VFORK: this thread goes on when the child has exec'ed or ended.
pid_t Clone(int flags) {
#ifdef __SANITIZE_THREAD__
  __sanitizer_syscall_pre_impl_fork();
#endif
  const long pid = syscall(SYS_clone, flags | CLONE_VFORK | SIGCHLD, 0, 0, 0, 0);
#ifdef __SANITIZE_THREAD__
  __sanitizer_syscall_post_impl_fork(pid);
#endif
  return static_cast<pid_t>(pid);
}

}  // namespace

Result<pid_t> CloneAndExec(int flags, const std::function<void(ExecFailure&)>& body,
                           ExecFailure* failure) {
  void* page =
      mmap(nullptr, sizeof(ExecFailure), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return ErrnoStatus("taking memory for a new process", errno);
  ExecFailure* shared = new (page) ExecFailure;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t pid = Clone(flags);
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
