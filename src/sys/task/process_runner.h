// SPDX-License-Identifier: Apache-2.0
// The ProcessRunner of this machine. How each mechanism ends everything that a task started:
//   pidns      a pid namespace of its own with stoker as its init (a user namespace too, unless
//              root): when the init ends, the kernel kills all. Nothing can leave it. In a user
//              namespace setuid programs such as sudo do not work.
//   cgroup     a cgroup v2 of its own and cgroup.kill, where the tree is ours to write.
//   subreaper  orphans are adopted, and everything that descends from the task is stopped and
//              killed until nothing is left: best effort against programs that fork without pause.
// In all three the task ends when this process dies, of kill -9 too.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "port/process_runner.h"
#include "sys/task/task_limits.h"

namespace stoker {

struct ProcessRunnerOptions {
  std::string mechanism;  // "pidns", "cgroup", "subreaper"; "" = the first of these that works here
  // A binary whose main() hands argv[1] == "__init" to TaskInitMain (sys/task/task_init.h).
  std::string self_exe = "/proc/self/exe";
  // What it says is held by a cgroup around each task, whatever the mechanism, where that is to be
  // had. Must outlive the runner and its tasks; nullptr: no limits.
  TaskLimiter* limiter = nullptr;
  // The cgroup that this process runs in holds nothing but it and its tasks.
  bool alone = false;
};

// Thread-safe. Nobody else in the process may wait for any child (waitpid(-1)). Start's errors:
// kNotFound program, interpreter; kInvalid working directory, file that is no program, an unknown
// or impossible mechanism asked for by name (says why); kDenied not executable; kUnavailable or
// kTimeout the process that watches over the program was ended, or said nothing, while it started.
std::unique_ptr<ProcessRunner> MakeProcessRunner(ProcessRunnerOptions options = {});

// The mechanisms that work for this process here, best first; tries each one once with a real
// child.
std::vector<std::string> WorkingMechanisms(const std::string& self_exe = "/proc/self/exe");

}  // namespace stoker
