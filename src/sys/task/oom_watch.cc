// SPDX-License-Identifier: Apache-2.0
#include "sys/task/oom_watch.h"

#include <signal.h>

#include <algorithm>
#include <chrono>

#include "base/text.h"
#include "sys/file.h"
#include "sys/task/cgroup.h"
#include "sys/task/usage.h"

namespace stoker {
namespace {

constexpr int64_t kLatelyMs = 1000;
constexpr int64_t kLookEveryMs = 400;
constexpr char kFirstVersion[] = "/sys/fs/cgroup/memory";

int64_t MonotonicMs() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

OomWatch::Counts operator-(const OomWatch::Counts& a, const OomWatch::Counts& b) {
  return {a.task - b.task, a.own - b.own, a.machine - b.machine};
}

// The smallest of the limits that `file` says, in the folder `cgroup` and those above it up to
// `mount`; "max", and what no machine has, are none.
int64_t LimitAt(const std::string& mount, std::string cgroup, const char* file, int64_t limit) {
  for (;;) {
    const std::string text = sys::ReadFile(cgroup + file, 4096).value_or("");
    const auto bytes = WholeNumber(text.substr(0, text.find('\n')), 1, INT64_MAX);
    if (bytes && (limit == 0 || *bytes < limit)) limit = *bytes;
    if (cgroup.size() <= mount.size()) return limit;
    cgroup.resize(cgroup.rfind('/'));
  }
}

// Of version 1, where it may lie elsewhere in a container: there its mount is its own.
int64_t FirstVersionLimit(int64_t limit) {
  std::string own;
  for (const std::string& line : Split(sys::ReadFile("/proc/self/cgroup").value_or(""), '\n')) {
    const size_t at = line.find(":memory:/");
    if (at != std::string::npos) own = line.substr(at + std::string(":memory:").size());
  }
  if (own.empty()) return limit;
  const std::string mount = kFirstVersion;
  const std::string folder = mount + (own == "/" ? "" : own);
  return LimitAt(mount, sys::DirExists(folder) ? folder : mount, "/memory.limit_in_bytes", limit);
}

}  // namespace

int64_t MemoryCeiling() {
  int64_t limit = ReadMachineUsage().memory_bytes;
  const auto mountinfo = sys::ReadFile("/proc/self/mountinfo");
  const std::string mount = mountinfo.ok() ? Cgroup2Mount(*mountinfo) : "";
  const auto own = OwnCgroup();
  if (!mount.empty() && own.ok()) limit = LimitAt(mount, *own, "/memory.max", limit);
  return FirstVersionLimit(limit);
}

OomWatch::OomWatch(const std::string& task_cgroup, bool alone)
    : task_cgroup_(task_cgroup), alone_(alone) {
  own_cgroup_ = OwnCgroup().value_or("");
  start_ = Read();
  before_ = latest_ = {MonotonicMs(), start_};
}

OomWatch::Counts OomWatch::Read() const {
  Counts out;
  if (!task_cgroup_.empty()) {
    // A container's may be of version 1.
    auto kills = CgroupValue(task_cgroup_, "memory.events", "oom_kill");
    if (!kills) kills = CgroupValue(task_cgroup_, "memory.oom_control", "oom_kill");
    out.task = kills.value_or(0);
  }
  if (!own_cgroup_.empty()) {
    out.own = CgroupValue(own_cgroup_, "memory.events", "oom_kill").value_or(0);
  }
  out.machine = CgroupValue("/proc", "vmstat", "oom_kill").value_or(0);
  return out;
}

void OomWatch::Look() {
  const std::lock_guard lock(mutex_);
  const int64_t now = MonotonicMs();
  if (now - latest_.at < kLookEveryMs) return;
  before_ = latest_;
  latest_ = {now, Read()};
}

// Against the older look, if that is not older than it need be: a kill may precede the end by what
// it takes to give its memory back. A machine that is short of memory looks late.
OomWatch::Verdict OomWatch::Judge(const TaskExit& exit, bool killed_by_us, int64_t peak) const {
  if (exit.signal == 0 && exit.exit_code == 0) return Verdict::kNo;
  const std::lock_guard lock(mutex_);
  const Counts now = Read();
  const Look_& base = MonotonicMs() - before_.at <= kLatelyMs ? before_ : latest_;
  Evidence seen;
  seen.since_start = now - start_;
  seen.lately = now - base.counts;
  seen.alone = alone_;
  seen.peak = peak;
  if (seen.since_start.own + seen.since_start.machine > 0) seen.ceiling = MemoryCeiling();
  return Judge(seen, exit, killed_by_us);
}

OomWatch::Verdict OomWatch::Judge(const Evidence& seen, const TaskExit& exit, bool killed_by_us) {
  const bool failed = exit.signal != 0 || exit.exit_code != 0;
  if (!failed) return Verdict::kNo;
  if (seen.since_start.task > 0) return Verdict::kProven;
  const bool ours = killed_by_us && exit.signal == SIGKILL;
  if (seen.alone && seen.since_start.own > 0 && !ours) return Verdict::kProven;
  if (exit.ShellCode() != 128 + SIGKILL || killed_by_us) return Verdict::kNo;
  const bool lately = seen.lately.own > 0 || seen.lately.machine > 0;
  const bool large = seen.ceiling > 0 && seen.peak >= seen.ceiling - seen.ceiling / 10;
  if (lately && large) return Verdict::kProven;
  const bool any = seen.since_start.own > 0 || seen.since_start.machine > 0;
  return any ? Verdict::kPossible : Verdict::kNo;
}

}  // namespace stoker
