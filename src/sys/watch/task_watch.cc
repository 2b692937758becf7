// SPDX-License-Identifier: Apache-2.0
#include "sys/watch/task_watch.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "base/text.h"
#include "sys/file.h"

namespace stoker {
namespace {

constexpr Duration kOlder = Duration::Seconds(1);
constexpr Duration kBadEndCounts = Duration::Ms(500);
// Who has used no more of a processor than this in all its life has only waited (sleep, tail).
constexpr double kWaiterSeconds = 0.1;
constexpr unsigned kExiting = 0x4;  // PF_EXITING of the kernel's task flags (linux/sched.h)

enum class Life { kAlive, kDying, kDead, kGone };

struct Vitals {
  Life life = Life::kGone;
  long code = 0;  // as wait(2) gives it, once it is dying
  uint64_t start = 0;
  uint64_t ticks = 0;  // of a processor, used so far
};

// Fields of /proc/<pid>/stat as proc(5) numbers them: 3 state, 9 flags, 14 and 15 time used, 22
// start, 52 exit code.
Vitals VitalsOf(int pid) {
  Vitals out;
  auto content = sys::ReadFile("/proc/" + std::to_string(pid) + "/stat", 1 << 16);
  if (!content.ok()) return out;
  const size_t bracket = content->rfind(')');
  if (bracket == std::string::npos) return out;
  std::istringstream fields(content->substr(bracket + 1));
  std::vector<std::string> values;
  for (std::string value; fields >> value;) values.push_back(value);
  if (values.size() < 20) return out;
  const char state = values[0][0];
  const unsigned long flags = std::strtoul(values[6].c_str(), nullptr, 10);
  out.ticks = std::strtoull(values[11].c_str(), nullptr, 10) +
              std::strtoull(values[12].c_str(), nullptr, 10);
  out.start = std::strtoull(values[19].c_str(), nullptr, 10);
  if (values.size() > 49) out.code = std::strtol(values[49].c_str(), nullptr, 10);
  if (state == 'Z' || state == 'X' || state == 'x') {
    out.life = Life::kDead;
  } else if ((flags & kExiting) != 0) {
    out.life = Life::kDying;
  } else {
    out.life = Life::kAlive;
  }
  return out;
}

// Whether it has written to a file on a disk in all its life, as the kernel counts it (proc(5),
// io: write_bytes), also of one that nobody has collected yet. False where it does not say: what
// goes into a pipe does not count, and nor does what goes into memory (tmpfs).
bool WroteToDisk(int pid) {
  constexpr std::string_view kName = "\nwrite_bytes: ";
  const auto content = sys::ReadFile("/proc/" + std::to_string(pid) + "/io", 1 << 12);
  const size_t at = content.ok() ? content->find(kName) : std::string::npos;
  return at != std::string::npos &&
         std::strtoull(content->c_str() + at + kName.size(), nullptr, 10) > 0;
}

std::vector<int> AllProcesses() {
  std::vector<int> out;
  DIR* dir = opendir("/proc");
  if (dir == nullptr) return out;
  while (const dirent* entry = readdir(dir)) {
    char* end = nullptr;
    const long pid = std::strtol(entry->d_name, &end, 10);
    if (pid > 0 && *end == '\0' && pid != getpid()) out.push_back(static_cast<int>(pid));
  }
  closedir(dir);
  return out;
}

bool OpenForWriting(const std::string& process, const char* number) {
  auto info = sys::ReadFile(process + "/fdinfo/" + number, 1 << 16);
  if (!info.ok()) return false;
  const size_t at = info->find("flags:");
  if (at == std::string::npos) return false;
  const long flags = std::strtol(info->c_str() + at + 6, nullptr, 8);
  return (flags & O_ACCMODE) != O_RDONLY;
}

}  // namespace

void TaskWatch::SetProcesses(std::function<std::vector<int>()> processes) {
  const std::lock_guard lock(mutex_);
  list_ = std::move(processes);
  known_.clear();
  met_ = false;
  deserted_ = false;
  bad_ = Fate::kLived;
}

bool TaskWatch::has_task() const {
  const std::lock_guard lock(mutex_);
  return static_cast<bool>(list_);
}

bool TaskWatch::OnlyWaited(const Process& process) {
  static const double per_second = static_cast<double>(sysconf(_SC_CLK_TCK));
  return !process.wrote && static_cast<double>(process.ticks) <= kWaiterSeconds * per_second;
}

void TaskWatch::Refresh(MonoTime now) {
  std::function<std::vector<int>()> list;
  {
    const std::lock_guard lock(mutex_);
    list = list_;
  }
  if (!list) return;
  const std::vector<int> pids = list();
  const std::lock_guard lock(mutex_);
  for (int pid : pids) {
    const Vitals vitals = VitalsOf(pid);
    if (vitals.life != Life::kAlive) continue;
    met_ = true;
    const Process fresh{vitals.start, now, vitals.ticks, false};
    auto [it, added] = known_.try_emplace(pid, fresh);
    if (!added && it->second.start != vitals.start) it->second = fresh;
    it->second.ticks = vitals.ticks;
  }
}

Fate TaskWatch::Judge(MonoTime now) {
  const std::lock_guard lock(mutex_);
  // The end of the whole task stays in force, however late a hint is looked at.
  if (!deserted_ && now - bad_at_ >= kBadEndCounts) bad_ = Fate::kLived;
  bool alive = false;
  for (auto it = known_.begin(); it != known_.end();) {
    Vitals vitals = VitalsOf(it->first);
    if (vitals.start != it->second.start) vitals.life = Life::kGone;
    if (vitals.life == Life::kAlive) {
      alive = true;
      it->second.ticks = vitals.ticks;
      ++it;
      continue;
    }
    // A young one that is gone or failed is a step of a script as long as somebody is left to go on
    // with it, and so is one that did nothing but wait; any other may have been the trainer.
    const bool older = now - it->second.first_seen >= kOlder && !OnlyWaited(it->second);
    Fate fate = Fate::kLived;
    // What stands before `head` in a pipeline ends so; who was seen to write there, or has written
    // to any disk, may have been the writer.
    const bool pipe =
        (vitals.code & 0x7f) == SIGPIPE && !it->second.wrote && !WroteToDisk(it->first);
    if (vitals.life == Life::kGone || pipe) {
      fate = older ? Fate::kUnknown : Fate::kLikely;
    } else if ((vitals.code & 0x7f) != 0) {
      fate = Fate::kKilled;
    } else if (vitals.code != 0) {
      fate = older ? Fate::kKilled : Fate::kLikely;
    }
    if (fate != Fate::kLived) {
      bad_ = std::max(bad_, fate);
      bad_at_ = now;
    }
    it = vitals.life == Life::kDying ? std::next(it) : known_.erase(it);
  }
  deserted_ = met_ && !alive;
  // Nobody is left to go on: it was the trainer, however young, and whoever collected it was faster
  // than this look.
  if (deserted_ && bad_ == Fate::kLikely) bad_ = Fate::kUnknown;
  return list_ && !met_ ? Fate::kLikely : bad_;
}

bool TaskWatch::Alive() {
  const std::lock_guard lock(mutex_);
  return std::any_of(known_.begin(), known_.end(), [](const auto& entry) {
    const Vitals vitals = VitalsOf(entry.first);
    return vitals.life == Life::kAlive && vitals.start == entry.second.start;
  });
}

int64_t TaskWatch::SizeLimit() {
  const std::lock_guard lock(mutex_);
  int64_t smallest = -1;
  for (const auto& [pid, process] : known_) {
    struct rlimit limit;
    if (prlimit(pid, RLIMIT_FSIZE, nullptr, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
      continue;
    }
    const auto value = static_cast<int64_t>(limit.rlim_cur);
    if (smallest < 0 || value < smallest) smallest = value;
  }
  return smallest;
}

Writers TaskWatch::Look(dev_t device, const std::string& root,
                        const std::map<std::string, InodeId>& inodes) {
  // Most looks at most jobs: a walk over all processes only to find writers of nothing.
  if (inodes.empty()) return {};
  std::vector<int> pids;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [pid, process] : known_) pids.push_back(pid);
  }
  const bool all = pids.empty();
  if (all) pids = AllProcesses();
  Writers out;
  std::map<int, std::set<InodeId>> apart;
  std::map<InodeId, int> holders;
  std::set<int> writers;
  for (int pid : pids) {
    if (LookInto(pid, device, root, inodes, &out, &apart[pid])) writers.insert(pid);
    for (const InodeId& file : apart[pid]) ++holders[file];
  }
  // What others of the task hold too was handed down to them: a script's log, a lock.
  for (const auto& [pid, files] : apart) {
    const bool own = std::any_of(files.begin(), files.end(),
                                 [&](const InodeId& file) { return holders[file] == 1; });
    if (own) writers.insert(pid);
  }
  {
    const std::lock_guard lock(mutex_);
    for (int pid : writers) {
      if (const auto it = known_.find(pid); it != known_.end()) it->second.wrote = true;
    }
  }
  // Strangers that cannot be looked into do not matter when there is no task.
  if (all) out.known = true;
  return out;
}

bool TaskWatch::LookInto(int pid, dev_t device, const std::string& root,
                         const std::map<std::string, InodeId>& inodes, Writers* out,
                         std::set<InodeId>* apart) {
  bool writes = false;
  const std::string process = "/proc/" + std::to_string(pid);
  const std::string below = root + "/";
  DIR* dir = opendir((process + "/fd").c_str());
  if (dir == nullptr) {
    if (errno != ENOENT && errno != ESRCH) out->known = false;
  } else {
    while (const dirent* entry = readdir(dir)) {
      if (entry->d_name[0] == '.') continue;
      char target[4096];
      const std::string link = process + "/fd/" + entry->d_name;
      const ssize_t length = readlink(link.c_str(), target, sizeof(target));
      if (length <= 0 || target[0] != '/') continue;
      struct stat info;
      if (stat(link.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) continue;
      const bool below_root =
          StartsWith(std::string_view(target, static_cast<size_t>(length)), below);
      if (!below_root && info.st_dev != device) continue;
      if (!OpenForWriting(process, entry->d_name)) continue;
      const InodeId inode{info.st_dev, info.st_ino};
      const bool inside =
          below_root || std::any_of(inodes.begin(), inodes.end(),
                                    [&](const auto& known) { return known.second == inode; });
      out->open.insert(inode);
      if (inside) {
        writes = true;
      } else {
        apart->insert(inode);
      }
    }
    closedir(dir);
  }
  auto maps = sys::ReadFile(process + "/maps", 256 << 20);
  if (!maps.ok()) {
    if (maps.code() != Code::kNotFound) out->known = false;
    return writes;
  }
  std::istringstream lines(*maps);
  for (std::string line; std::getline(lines, line);) {
    // "start-end rw-s offset major:minor inode   path", proc(5)
    const size_t space = line.find(' ');
    if (space == std::string::npos || line.size() < space + 5) continue;
    if (line[space + 2] != 'w' || line[space + 4] != 's') continue;
    unsigned major_number = 0;
    unsigned minor_number = 0;
    unsigned long inode = 0;
    int path_at = 0;
    if (std::sscanf(line.c_str() + space + 5, " %*x %x:%x %lu %n", &major_number, &minor_number,
                    &inode, &path_at) < 3) {
      continue;
    }
    const dev_t map_device = makedev(major_number, minor_number);
    if (map_device == device) {
      out->mapped.insert({device, inode});
      writes = true;
    }
    const std::string path = line.substr(space + 5 + static_cast<size_t>(path_at));
    if (!StartsWith(path, below)) continue;
    if (auto it = inodes.find(path.substr(below.size())); it != inodes.end()) {
      out->mapped.insert(it->second);
      writes = true;
    }
  }
  return writes;
}

}  // namespace stoker
