// SPDX-License-Identifier: Apache-2.0
// Memory and CPUs of a task, held by the kernel: a control group (version 2) of its own with
// memory.max, memory.swap.max, memory.oom.group and cpu.max. Source of what they do, and of the
// rule that a group which hands controllers down has no process itself:
// Documentation/admin-guide/cgroup-v2.rst of Linux. Where a group may be made beside systemd:
// its "Control Group APIs and Delegation" (systemd.io/CGROUP_DELEGATION).
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace stoker {

struct TaskLimits {
  int64_t memory = 0;  // bytes; 0 = as much as there is
  int64_t cpus = 0;    // in thousandths; 0 the same
  bool none() const { return memory == 0 && cpus == 0; }
};

// The cgroup2 tree as a process sees it; tests make one of plain files.
struct CgroupTree {
  std::string mount;  // "/sys/fs/cgroup"
  std::string own;    // the folder of the process's own group, in it
  bool root = false;  // the process may do anything
  // Handed down to whoever runs in it: systemd's Delegate=, which is an extended attribute from
  // version 251 on. nullopt: not said, as by older ones.
  std::optional<bool> delegated;
};
Result<CgroupTree> ThisCgroupTree();

// Where groups with these limits may be made.
struct LimitPlace {
  std::string parent;
  // Its processes have to move into a group of their own first. Never true where systemd would
  // not expect it.
  bool move = false;
  bool memory = false, cpus = false;  // which of them can be held there
  std::string why_not_all;            // "" = both
};
// Looks, and changes nothing. kDenied, kNotFound: why neither can be held, and what to do.
Result<LimitPlace> FindLimitPlace(const CgroupTree& tree);

// Makes a group with these limits, of which one at least must be set. The caller ends it with
// EndCgroup.
Result<std::string> MakeLimitedCgroup(const LimitPlace& place, const TaskLimits& limits);

// What the tasks of one node may use. Thread-safe.
class TaskLimiter {
 public:
  // From now on, for each task alike.
  void Ask(const TaskLimits& limits);
  // "memory (2.0 GB) and CPUs (1) are counted here and not enforced: …" for the log, once; ""
  // where all that was asked for is held, nothing was, or it has been said.
  std::string TakeComplaint();
  // The memory that a task of this node was limited to when the kernel ended it for that; 0: none
  // was ended so.
  int64_t exceeded() const;

  // For a container's engine, which holds them itself: as MakeGroup, of which there is none then.
  TaskLimits asked();
  // For the runner. "" = no group is to be had, or none needed.
  std::string MakeGroup();
  // A task could not begin in such a group; from now on none is made.
  void GiveUp(const Status& why);
  // Asked when a task of that group ran out of memory: was that its own limit?
  void OutOfMemory(const std::string& group);

 private:
  void Complain(bool memory, bool cpus, const std::string& why);

  mutable std::mutex mutex_;
  TaskLimits limits_;
  bool given_up_ = false;
  bool complained_ = false;
  std::string complaint_;
  int64_t exceeded_ = 0;
};

}  // namespace stoker
