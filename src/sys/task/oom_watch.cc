// SPDX-License-Identifier: Apache-2.0
#include "sys/task/oom_watch.h"

#include <signal.h>

#include "sys/file.h"
#include "sys/task/cgroup.h"

namespace stoker {

OomWatch::OomWatch(const std::string& task_cgroup) : task_cgroup_(task_cgroup) {
  own_cgroup_ = OwnCgroup().value_or("");
  start_ = Read();
}

OomWatch::Counts OomWatch::Read() const {
  Counts out;
  if (!task_cgroup_.empty()) {
    out.task = CgroupValue(task_cgroup_, "memory.events", "oom_kill").value_or(0);
  }
  if (!own_cgroup_.empty()) {
    out.own = CgroupValue(own_cgroup_, "memory.events", "oom_kill").value_or(0);
  }
  out.machine = CgroupValue("/proc", "vmstat", "oom_kill").value_or(0);
  return out;
}

bool OomWatch::Judge(const TaskExit& exit, bool killed_by_us) const {
  const Counts now = Read();
  return Judge({now.task - start_.task, now.own - start_.own, now.machine - start_.machine}, exit,
               killed_by_us);
}

bool OomWatch::Judge(const Counts& delta, const TaskExit& exit, bool killed_by_us) {
  const bool failed = exit.signal != 0 || exit.exit_code != 0;
  if (delta.task > 0 && failed) return true;
  if (delta.own > 0 && failed && !(killed_by_us && exit.signal == SIGKILL)) return true;
  return delta.machine > 0 && exit.ShellCode() == 128 + SIGKILL && !killed_by_us;
}

}  // namespace stoker
