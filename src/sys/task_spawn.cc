// SPDX-License-Identifier: Apache-2.0
#include "sys/task_spawn.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "sys/spawn_thread.h"

namespace stoker {
namespace {

constexpr size_t kStackBytes = 64 << 10;

// Shared with the child, which runs in this process's memory until it has exec'ed: it makes plain
// system calls only and takes no memory.
struct Child {
  const ShimSpawn* spawn;
  std::string uid_map;
  std::string gid_map;
  std::vector<char*> argv;
  std::vector<char*> env;
  const char* step = "";
  int error = 0;
};

bool WriteOnce(const char* path, const char* text, size_t size) {
  const int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool ok = write(fd, text, size) == static_cast<ssize_t>(size);
  close(fd);
  return ok;
}

bool EnterNamespaces(Child& child) {
  if (child.spawn->user_namespace) {
    child.step = "mapping the user in a user namespace";
    // An unprivileged gid map is allowed only once setgroups is given up (user_namespaces(7));
    // kernels before 3.19 have no such file.
    if (!WriteOnce("/proc/self/setgroups", "deny", 4) && errno != ENOENT) return false;
    if (!WriteOnce("/proc/self/uid_map", child.uid_map.data(), child.uid_map.size())) return false;
    if (!WriteOnce("/proc/self/gid_map", child.gid_map.data(), child.gid_map.size())) return false;
  }
  child.step = "detaching from the machine's mounts";
  if (mount("none", "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0) return false;
  child.step = "mounting /proc in a pid namespace";
  return mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) == 0;
}

bool PlaceDescriptors(Child& child) {
  child.step = "placing descriptors";
  int high[kPayloadFd + 1];
  for (int i = 0; i <= kPayloadFd; ++i) {
    high[i] = fcntl(child.spawn->fds[i], F_DUPFD_CLOEXEC, kPayloadFd + 1);
    if (high[i] < 0) return false;
  }
  for (int i = 0; i <= kPayloadFd; ++i) {
    if (dup2(high[i], i) < 0) return false;
  }
  return true;
}

int RunChild(void* argument) {
  Child& child = *static_cast<Child*>(argument);
  setsid();
  if ((!child.spawn->namespaces || EnterNamespaces(child)) && PlaceDescriptors(child)) {
    child.step = "starting";
    execve(child.spawn->executable.c_str(), child.argv.data(), child.env.data());
  }
  child.error = errno;
  _exit(127);
}

Result<pid_t> CloneShim(const ShimSpawn& spawn, Child& child) {
  void* stack = mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (stack == MAP_FAILED) return ErrnoStatus("taking a stack for a new process", errno);
  int flags = CLONE_VM | CLONE_VFORK | SIGCHLD;
  if (spawn.namespaces) flags |= CLONE_NEWPID | CLONE_NEWNS;
  if (spawn.user_namespace) flags |= CLONE_NEWUSER;
  // No handler of ours may run in the child: it would run in our memory.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t pid = clone(RunChild, static_cast<char*>(stack) + kStackBytes, flags, &child);
  const int clone_error = errno;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  munmap(stack, kStackBytes);
  if (pid < 0) {
    return ErrnoStatus(spawn.user_namespace ? "making a user and a pid namespace"
                       : spawn.namespaces   ? "making a pid namespace"
                                            : "making a process",
                       clone_error);
  }
  return pid;
}

}  // namespace

Result<pid_t> SpawnShim(const ShimSpawn& spawn) {
  Child child;
  child.spawn = &spawn;
  child.uid_map = std::to_string(geteuid()) + " " + std::to_string(geteuid()) + " 1\n";
  child.gid_map = std::to_string(getegid()) + " " + std::to_string(getegid()) + " 1\n";
  std::string name = "stoker", verb = kTaskInitVerb;
  child.argv = {name.data(), verb.data(), nullptr};
  std::vector<std::string> env = spawn.env;
  for (std::string& entry : env) child.env.push_back(entry.data());
  child.env.push_back(nullptr);

  Result<pid_t> pid = Status(Code::kInternal, "not run");
  RunOnSpawnThread([&] { pid = CloneShim(spawn, child); });
  if (!pid.ok() || child.error == 0) return pid;
  int status = 0;
  while (waitpid(*pid, &status, 0) < 0 && errno == EINTR) {
  }
  return ErrnoStatus(child.step, child.error);
}

}  // namespace stoker
