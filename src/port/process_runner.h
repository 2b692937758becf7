// SPDX-License-Identifier: Apache-2.0
// Starts the user's program so that everything it ever starts can be ended.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "base/time.h"
#include "port/log_sink.h"

namespace stoker {

// A host name of its own for a task, where the system lets it have one: the enclosure then has it,
// and `hosts_file` in the place of /etc/hosts, so that it and its peers' names resolve.
struct TaskHost {
  std::string name;  // "" = the machine's
  std::string hosts_file;
  // Set instead of what `env` says of these names where it cannot be.
  std::vector<std::pair<std::string, std::string>> env_without;
};

struct TaskCommand {
  std::vector<std::string> argv;                         // argv[0] is looked up in env's PATH
  std::vector<std::pair<std::string, std::string>> env;  // the whole environment, in order
  std::string cwd;
  TaskHost host = {};
  LogStream out = LogStream::kOut;  // which streams its output is filed under
  LogStream err = LogStream::kErr;
  int lock = -1;  // a descriptor that all processes of the task hold, unless they close it
};

inline constexpr Duration kLeftBehindGrace = Duration::Seconds(5);

struct TaskExit {
  int exit_code = 0;  // meaningful when signal == 0
  int signal = 0;
  bool out_of_memory = false;  // the kernel's OOM killer took a process of this task: proven
  // What the runner had put around the program was killed, and the program with it: its end says
  // nothing about the program.
  bool unwatched = false;
  bool ours = false;          // `signal` was sent through the Task
  bool memory_short = false;  // ended by SIGKILL, and memory may have run out: not proven
  // Processes that lived on a moment after it had ended by itself; they were sent SIGTERM, and had
  // kLeftBehindGrace.
  int left_behind = 0;
  // It had ended before any process of the task was signalled through the Task: what was sent while
  // its end was held back, for what it left behind, says nothing of it.
  bool untold = false;
  // As a shell reports it: 128 + signal, else the code.
  int ShellCode() const { return signal != 0 ? 128 + signal : exit_code; }
};

struct SignalledProcess {
  int pid = 0;
  std::string command;  // its arguments, with blanks between them; not printable, may be secret
};

struct TaskUsage {
  double cpu_seconds = 0;      // of all processes of the task so far
  int64_t resident_bytes = 0;  // of all processes now
  // The most that was seen: of all together, or of the largest one that has ended.
  int64_t peak_bytes = 0;
  int processes = 0;
};

// One running program and all that it started, wherever those went (setsid, double fork).
// Destroying a Task ends all its processes. When the process that owns the Task dies, the kernel
// ends the task too. Methods may be called from any thread.
class Task {
 public:
  virtual ~Task() = default;
  // Empty while the main process runs, or after Stop any; after its end also while what it has left
  // behind ends, for kLeftBehindGrace at most. Never blocks.
  virtual std::optional<TaskExit> Poll() = 0;
  // Blocks until Poll has an answer, or `timeout_ms` passed. What the kernel counts is noted by
  // whoever waits: called every half second, it tells what went before the end from what did not.
  virtual std::optional<TaskExit> Wait(int64_t timeout_ms) = 0;
  // Sends `signo` to the processes that handle it, by the rule of docs/interruptions.md: the
  // topmost of each branch, no shell, no forked copy. Returns whom it was sent to; none where
  // nobody handles it, or the task has ended.
  virtual Result<std::vector<SignalledProcess>> Signal(int signo) = 0;
  // Begins the task's end: SIGTERM by the same rule, to every process where nobody handles it, and
  // later to what is left. From now on the main process's end is told once no process of the task
  // lives, or End was called: one that it left behind may still be saving. Returns who was told
  // first. Harmless to repeat.
  virtual Result<std::vector<SignalledProcess>> Stop() = 0;
  // Whether a process of the task that is no shell, no launcher and no forked copy handles SIGTERM.
  virtual bool SavesAtStop() = 0;
  // SIGKILL to everything; returns when no process of the task is left and all output that was
  // written has reached the LogSink. Harmless to repeat.
  virtual Status End() = 0;
  virtual TaskUsage Usage() = 0;
  // "pidns", "cgroup" or "subreaper".
  virtual std::string mechanism() const = 0;
  // The task has the host name that was asked for.
  virtual bool has_host_name() const = 0;
  // Pids (as this process sees them) of the task's processes right now.
  virtual std::vector<int> Processes() = 0;
};

class ProcessRunner {
 public:
  virtual ~ProcessRunner() = default;
  // `sink` must outlive the Task. kNotFound names a missing interpreter or program; kInvalid a
  // missing working directory.
  virtual Result<std::unique_ptr<Task>> Start(const TaskCommand& command, LogSink& sink) = 0;
};

}  // namespace stoker
