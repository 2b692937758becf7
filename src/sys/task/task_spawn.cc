// SPDX-License-Identifier: Apache-2.0
#include "sys/task/task_spawn.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>

#include "sys/exec_child.h"
#include "sys/task/spawn_thread.h"

namespace stoker {
namespace {

// What the child needs, made before: it takes no memory.
struct Child {
  const ShimSpawn* spawn;
  std::string uid_map;
  std::string gid_map;
  std::vector<char*> argv;
  std::vector<char*> env;
};

bool WriteOnce(const char* path, const char* text, size_t size) {
  const int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool ok = write(fd, text, size) == static_cast<ssize_t>(size);
  close(fd);
  return ok;
}

// No failure: the shim sees by its host name whether this went well. The name comes last, so that
// one that does not resolve is never given.
void TakeHostName(const ShimSpawn& spawn) {
  if (spawn.host_name.empty() || unshare(CLONE_NEWUTS) != 0) return;
  if (mount(spawn.hosts_file.c_str(), "/etc/hosts", nullptr, MS_BIND, nullptr) != 0) return;
  (void)!sethostname(spawn.host_name.data(), spawn.host_name.size());
}

bool EnterNamespaces(Child& child, const char*& step) {
  if (child.spawn->user_namespace) {
    step = "mapping the user in a user namespace";
    // An unprivileged gid map is allowed only once setgroups is given up (user_namespaces(7));
    // kernels before 3.19 have no such file.
    if (!WriteOnce("/proc/self/setgroups", "deny", 4) && errno != ENOENT) return false;
    if (!WriteOnce("/proc/self/uid_map", child.uid_map.data(), child.uid_map.size())) return false;
    if (!WriteOnce("/proc/self/gid_map", child.gid_map.data(), child.gid_map.size())) return false;
  }
  step = "detaching from the machine's mounts";
  if (mount("none", "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0) return false;
  TakeHostName(*child.spawn);
  step = "mounting /proc in a pid namespace";
  return mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) == 0;
}

bool PlaceDescriptors(Child& child, const char*& step) {
  step = "placing descriptors";
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

void RunChild(Child& child, ExecFailure& failure) {
  setsid();
  if ((!child.spawn->namespaces || EnterNamespaces(child, failure.step)) &&
      PlaceDescriptors(child, failure.step)) {
    failure.step = "starting";
    execve(child.spawn->executable.c_str(), child.argv.data(), child.env.data());
  }
  failure.error = errno;
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

  int flags = spawn.namespaces ? CLONE_NEWPID | CLONE_NEWNS : 0;
  if (spawn.user_namespace) flags |= CLONE_NEWUSER;
  Result<pid_t> pid = Status(Code::kInternal, "not run");
  RunOnSpawnThread([&] {
    pid = CloneAndExec(flags, [&child](ExecFailure& failure) { RunChild(child, failure); });
  });
  if (pid.ok() || !spawn.namespaces) return pid;
  return pid.status().WithContext(spawn.user_namespace ? "a user and a pid namespace"
                                                       : "a pid namespace");
}

}  // namespace stoker
