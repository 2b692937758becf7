// SPDX-License-Identifier: Apache-2.0
#include "sys/task/descendant_hunt.h"

#include <dirent.h>
#include <signal.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <charconv>
#include <cstring>
#include <unordered_set>

#include "sys/task/process_table.h"

namespace stoker {
namespace {

constexpr int kForgetEvery = 64;  // rounds after which pids of strangers may have been reused
constexpr int kKillEvery = 8;

int64_t NowMs() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<int64_t>(t.tv_sec) * 1000 + t.tv_nsec / 1'000'000;
}

void Stop(pid_t pid) {
  kill(pid, SIGSTOP);
  // For anyone but root a fork fails from now on.
  const rlimit none{0, 0};
  prlimit(pid, RLIMIT_NPROC, &none, nullptr);
}

// Walks that read only what is new: a walk must be shorter than the life of one link in a chain of
// processes that fork and end.
class Walker {
 public:
  Walker() : dir_(opendir("/proc")) {}
  ~Walker() {
    if (dir_ != nullptr) closedir(dir_);
  }
  Walker(const Walker&) = delete;
  Walker& operator=(const Walker&) = delete;

  std::vector<ProcessStat> Descendants() {
    if (++round_ % kForgetEvery == 0) strangers_.clear();
    std::vector<ProcessStat> fresh;
    if (dir_ == nullptr) return fresh;
    rewinddir(dir_);
    while (const dirent* entry = readdir(dir_)) {
      pid_t pid = 0;
      const char* name = entry->d_name;
      if (std::from_chars(name, name + std::strlen(name), pid).ec != std::errc()) continue;
      if (strangers_.count(pid) != 0) continue;
      auto stat = ReadProcessStat(pid);
      if (!stat) continue;
      // Ours have us as parent or one another, never the machine's init.
      const bool stranger = pid != self_ && (stat->parent <= 1 || strangers_.count(stat->parent));
      if (stranger) {
        strangers_.insert(pid);
      } else {
        fresh.push_back(std::move(*stat));
      }
    }
    return DescendantsOf(self_, fresh);
  }

 private:
  DIR* const dir_;
  const pid_t self_ = getpid();
  std::unordered_set<pid_t> strangers_;
  int round_ = 0;
};

}  // namespace

bool EndDescendants(const std::function<bool()>& reap, Duration limit) {
  setpriority(PRIO_PROCESS, 0, -20);
  const int64_t deadline = NowMs() + limit.ms;
  Walker walker;
  // First everything is stopped, which cannot be caught or ignored, and only when a walk finds
  // nothing running, killed: what is killed one by one may be started again by the rest.
  for (int round = 1; NowMs() < deadline; ++round) {
    bool running = false;
    for (const ProcessStat& p : walker.Descendants()) {
      if (p.state == 'T' || p.state == 't') continue;
      running = true;
      Stop(p.pid);
    }
    if (!running || round % kKillEvery == 0) {
      for (const ProcessStat& p : walker.Descendants()) kill(p.pid, SIGKILL);
    }
    if (!reap()) return true;
    if (!running) usleep(300);  // those killed need a moment
  }
  return false;
}

}  // namespace stoker
