// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "port/process_runner.h"

namespace stoker {

// Did the kernel's OOM killer take a process of a task? The kernel tells no parent, so this counts
// kills since the task began and judges with the exit:
//   - kills in the task's own cgroup are this task's for certain;
//   - kills in our own cgroup (a container's or a unit's memory limit) count when the task failed;
//   - kills anywhere on the machine (/proc/vmstat) count only when the program ended by SIGKILL
//   that
//     we did not send, or as a shell reports that (137): another program's kill in the same
//     moment as somebody's `kill -9` of ours would be misjudged.
class OomWatch {
 public:
  // `task_cgroup`: "" when the task has none of its own.
  explicit OomWatch(const std::string& task_cgroup);
  // `killed_by_us`: SIGKILL was sent through the Task.
  bool Judge(const TaskExit& exit, bool killed_by_us) const;

  struct Counts {
    int64_t task = 0;
    int64_t own = 0;
    int64_t machine = 0;
  };
  static bool Judge(const Counts& delta, const TaskExit& exit, bool killed_by_us);

 private:
  Counts Read() const;
  std::string task_cgroup_;
  std::string own_cgroup_;
  Counts start_;
};

}  // namespace stoker
