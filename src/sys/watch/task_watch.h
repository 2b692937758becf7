// SPDX-License-Identifier: Apache-2.0
// What the processes of a task do to the files of one directory, as /proc shows it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "port/checkpoint_files.h"

namespace stoker {

using InodeId = std::pair<dev_t, ino_t>;

struct Writers {
  std::set<InodeId> open;    // open for writing
  std::set<InodeId> mapped;  // mapped shared and writable
  bool known = true;         // every process could be looked into
};

// Thread-safe.
class TaskWatch {
 public:
  void SetProcesses(std::function<std::vector<int>()> processes);
  bool has_task() const;

  // Learns the task's processes anew. Processes that live for a second count as its older ones,
  // unless they have done nothing but wait in all their life.
  void Refresh(MonoTime now);
  // What became of the processes up to now. A bad end is reported for half a second, and the end of
  // the last one for good, so that files that the kernel closed at that end are seen in its light.
  Fate Judge(MonoTime now);
  bool Alive();
  // Smallest RLIMIT_FSIZE among the processes; -1 = none.
  int64_t SizeLimit();
  // Who writes files on device `device`; paths below `root` count on any device, because overlay
  // file systems show other device numbers in maps. Looks at all processes when there is no task.
  Writers Look(dev_t device, const std::string& root, const std::map<std::string, InodeId>& inodes);

 private:
  struct Process {
    uint64_t start = 0;
    MonoTime first_seen;
    uint64_t ticks = 0;  // of a processor that it had used when it was last seen alive
    bool wrote = false;  // it has been seen with a file of its own on the device open for writing
  };
  static bool OnlyWaited(const Process& process);
  // True when it has anything there open for writing; what it has open elsewhere on the device goes
  // to `apart`.
  bool LookInto(int pid, dev_t device, const std::string& root,
                const std::map<std::string, InodeId>& inodes, Writers* out,
                std::set<InodeId>* apart);

  mutable std::mutex mutex_;
  std::function<std::vector<int>()> list_;
  std::map<int, Process> known_;
  bool met_ = false;       // some process of the task has been seen alive
  bool deserted_ = false;  // and then none was
  Fate bad_ = Fate::kLived;
  MonoTime bad_at_;
};

}  // namespace stoker
