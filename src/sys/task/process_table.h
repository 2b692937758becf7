// SPDX-License-Identifier: Apache-2.0
// Processes as /proc shows them. Snapshots: a process may be gone by the time it is looked at.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/time.h"
#include "sys/task/signal_choice.h"

namespace stoker {

// One line of /proc/<pid>/stat (proc(5)).
struct ProcessStat {
  pid_t pid = 0;
  std::string comm;
  char state = '?';  // 'Z' and 'X' have ended already
  pid_t parent = 0;
  int64_t own_ticks = 0;       // utime + stime
  int64_t children_ticks = 0;  // of children that were waited for
  uint64_t start_ticks = 0;    // with the pid it names a process for one boot
  int64_t resident_pages = 0;

  bool ended() const { return state == 'Z' || state == 'X' || state == 'x'; }
};

// Parses the content of /proc/<pid>/stat; `comm` may hold anything, spaces and brackets included.
std::optional<ProcessStat> ParseProcessStat(std::string_view content);
std::optional<ProcessStat> ReadProcessStat(pid_t pid);

// Every process that this one can see, in no order.
std::vector<ProcessStat> ListProcesses();

// Those of `all` that descend from `root`, without `root` itself. Ended ones are followed but left
// out.
std::vector<ProcessStat> DescendantsOf(pid_t root, const std::vector<ProcessStat>& all);

// `processes` as ChooseReceivers (sys/task/signal_choice.h) wants them for `signo`: with the
// command lines of those that catch it and of their parents. A file or line that may not be read,
// as of another user's process, is its comm, and "".
std::vector<SeenProcess> LookAt(const std::vector<ProcessStat>& processes, int signo);

// A mark says to whom a process belongs, and outlives parents and sessions. It is an environment
// variable "NAME=value", and for stoker's own shims also a comm: that stays readable while a
// process that has lost its memory still ends its children.
inline constexpr char kInstanceMark[] =
    "STOKER_INSTANCE_DIR";                               // value: the local instance's folder
inline constexpr char kTaskMark[] = "STOKER_TASK_MARK";  // value: random per task
// 15 characters, a hash of `value`.
std::string MarkComm(std::string_view value);

// Processes with NAME=value in the environment they were started with, or with MarkComm(value), of
// this user, still alive, without this process itself.
std::vector<pid_t> MarkedProcesses(std::string_view name, std::string_view value);

// Processes that take no mark, noted in a file of the instance's folder for who comes after this
// one; in the place of those that were noted there. EndNotedProcesses kills those of them that
// still are there, and forgets them; nothing to do without the file.
inline constexpr char kNotedProcesses[] = "helpers";
Status NoteProcesses(const std::string& folder, const std::vector<ProcessStat>& processes);
void EndNotedProcesses(const std::string& folder);

// SIGKILL to MarkedProcesses until none is left or `limit` is over; first waits up to `patience`
// for them to end by themselves. True when none is left.
bool EndMarkedProcesses(std::string_view name, std::string_view value, Duration patience,
                        Duration limit);

}  // namespace stoker
