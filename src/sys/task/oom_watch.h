// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <mutex>
#include <string>

#include "port/process_runner.h"

namespace stoker {

// Did the kernel's OOM killer take a process of a task? The kernel tells no parent, so this counts
// kills and judges with the exit. Proven are
//   - kills in a cgroup that is this task's, or this node's alone, when the task failed;
//   - an end by SIGKILL that we did not send (or as a shell reports that, 137) within a second of a
//     kill anywhere on the machine, of a task that had come within a tenth of all the memory that
//     there is: of its cgroup's limit, or of the machine.
// Other kills since the task began prove nothing: another program may have been the one, and
// somebody's `kill -9` of ours have come later. Thread-safe.
class OomWatch {
 public:
  enum class Verdict { kNo, kPossible, kProven };

  // `task_cgroup`: "" when the task has none of its own. `alone`: the cgroup of this process holds
  // nothing but it and its tasks.
  OomWatch(const std::string& task_cgroup, bool alone);
  // Notes the counts of now, so that those of before are known once the task has ended; as often as
  // the caller likes.
  void Look();
  // `killed_by_us`: SIGKILL was sent through the Task. `peak`: the most that it had resident.
  Verdict Judge(const TaskExit& exit, bool killed_by_us, int64_t peak) const;

  struct Counts {
    int64_t task = 0;     // kills in the task's own cgroup
    int64_t own = 0;      // in ours: a container's, a unit's, a session's
    int64_t machine = 0;  // anywhere
  };
  struct Evidence {
    Counts since_start;
    Counts lately;        // within a second of the end
    bool alone = false;   // Counts::own is of this node
    int64_t peak = 0;     // bytes
    int64_t ceiling = 0;  // bytes; 0 = not known
  };
  static Verdict Judge(const Evidence& seen, const TaskExit& exit, bool killed_by_us);

 private:
  struct Look_ {
    int64_t at = 0;  // ms
    Counts counts;
  };
  Counts Read() const;

  std::string task_cgroup_;
  std::string own_cgroup_;
  bool alone_;
  Counts start_;
  mutable std::mutex mutex_;
  Look_ before_, latest_;  // guarded by mutex_
};

// The bytes that a task here may have at most: of its machine, and of the cgroups that this process
// runs in, of either version. 0: not known.
int64_t MemoryCeiling();

}  // namespace stoker
