// SPDX-License-Identifier: Apache-2.0
// The agent of a machine that stoker itself plays (`__machine`, `__slurm_node`): started, started
// again when it dies, and ended with everything that it ever started. In a cloud systemd does that.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/status.h"
#include "sys/file.h"

namespace stoker {

// Milliseconds since this computer started: goes on while it sleeps, and is not moved when somebody
// sets the date.
int64_t BootMs();

// For a process that holds a machine: SIGCHLD and SIGTERM come by the descriptor (signalfd(2)), and
// what a terminal sends is ignored. Before there is any thread.
Result<sys::ScopedFd> TakeMachineSignals();

struct AgentConfig {
  std::string dir;  // the machine's folder: it works there, and all of its processes bear its mark
  std::string program;  // as execve takes it
  std::vector<std::string> argv;
  std::vector<std::string> env = {};  // NAME=value, beside this process's own
  std::string log = "";               // where it writes; "" = where this process does
};

// Used by the main thread alone: the agent dies with the thread that started it.
class AgentKeeper {
 public:
  using Say = std::function<void(const std::string& line)>;
  AgentKeeper(AgentConfig facts, Say say) : facts_(std::move(facts)), say_(std::move(say)) {}

  // What does not start is tried again by Restart.
  void Start();
  // After SIGCHLD, and now and then. Why the machine is to be powered off, as the agent had done
  // all that it had to; "" = not. One that died is cleaned up after, which may block for seconds.
  std::string Reap();
  // Starts the next one, if none runs and the back-off is over: once nothing of a dead one is left.
  void Restart();
  void Signal(int signo) const;

  pid_t pid() const { return pid_; }                  // 0 = none runs
  int64_t restart_at() const { return restart_at_; }  // as BootMs; while none runs
  // Kills it, with everything that bears the mark. False: some of that cannot be ended.
  bool End();

 private:
  Status Spawn();
  void CleanUp();
  void BackOff();

  const AgentConfig facts_;
  const Say say_;
  pid_t pid_ = 0;
  bool dirty_ = false;  // processes of a dead agent may be left
  int64_t since_ = 0;
  int64_t backoff_ = 0;
  int64_t restart_at_ = 0;
};

}  // namespace stoker
