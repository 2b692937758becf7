// SPDX-License-Identifier: Apache-2.0
#include "sys/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>

#include "sys/descriptors.h"
#include "sys/exec_child.h"

namespace stoker {
namespace {

// What the child needs, made before: it takes no memory.
struct Child {
  const ChildCommand* command;
  pid_t parent;
  std::vector<char*> argv, env;
  std::vector<int> high;
};

bool Place(Child& child, const char*& step) {
  const int count = static_cast<int>(child.high.size());
  step = "placing descriptors";
  for (int i = 0; i < count; ++i) {
    child.high[i] = fcntl(child.command->fds[i], F_DUPFD_CLOEXEC, count);
    if (child.high[i] < 0) return false;
  }
  for (int i = 0; i < count; ++i) {
    if (dup2(child.high[i], i) < 0) return false;
  }
  CloseFrom(count);
  step = child.command->cwd.c_str();
  return chdir(child.command->cwd.c_str()) == 0;
}

void RunChild(Child& child, ExecFailure& failure) {
  setsid();
  if (child.command->die_with_thread) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != child.parent) _exit(127);
  }
  if (Place(child, failure.step)) {
    failure.step = child.command->program.c_str();
    ResetSignals();
    execve(child.command->program.c_str(), child.argv.data(), child.env.data());
  }
  failure.error = errno;
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
  return CloneAndExec(0, [&child](ExecFailure& failure) { RunChild(child, failure); });
}

}  // namespace stoker
