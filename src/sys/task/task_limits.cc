// SPDX-License-Identifier: Apache-2.0
#include "sys/task/task_limits.h"

#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>

#include "base/text.h"
#include "sys/file.h"
#include "sys/task/cgroup.h"

namespace stoker {
namespace {

// Where those go that were in a group that now hands controllers down.
constexpr char kOthers[] = "stoker.others";
constexpr int64_t kPeriodUs = 100'000;  // the kernel's own
constexpr int64_t kLeastQuotaUs = 1'000;
constexpr int kMoves = 50;
constexpr int64_t kAtOnce = 4 << 20;
constexpr char kHow[] =
    "start stoker as root, or by 'systemd-run --user --scope -p Delegate=yes stoker …' after "
    "'loginctl enable-linger' (without that, a job begun so ends with its user's last login)";

std::string ParentOf(const std::string& path) { return path.substr(0, path.rfind('/')); }
std::string NameOf(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// Only the root of the whole machine's tree has no events.
bool IsRealRoot(const std::string& cgroup) { return !sys::FileExists(cgroup + "/cgroup.events"); }

std::vector<std::string> WordsIn(const std::string& path) {
  std::vector<std::string> out;
  const auto content = sys::ReadFile(path, 4096);
  if (!content.ok()) return out;
  for (const std::string& line : Split(*content, '\n')) {
    for (const std::string& word : Split(line, ' ')) {
      if (!word.empty()) out.push_back(word);
    }
  }
  return out;
}

bool Has(const std::vector<std::string>& words, const char* word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// The nearest group at or above `cgroup` of which systemd says that it is delegated. A user's own
// systemd, which has all below "user@1000.service", says it of none (252 does not).
std::optional<bool> SaysDelegated(const std::string& mount, std::string cgroup) {
  for (; cgroup.size() > mount.size(); cgroup = ParentOf(cgroup)) {
    if (StartsWith(NameOf(cgroup), "user@")) return std::nullopt;
    char value[8] = {};
    if (getxattr(cgroup.c_str(), "user.delegate", value, sizeof value - 1) <= 0) continue;
    return value[0] == '1';
  }
  return std::nullopt;
}

Status Movable(const CgroupTree& tree, const std::string& parent) {
  struct stat info {};
  if (stat(parent.c_str(), &info) != 0) return ErrnoStatus("looking at cgroup " + parent, errno);
  for (const char* file : {"", "/cgroup.procs", "/cgroup.subtree_control"}) {
    if (access((parent + file).c_str(), W_OK) == 0) continue;
    return Status(Code::kDenied, "the cgroup that this runs in is not its user's to divide", kHow);
  }
  // Unasked, systemd takes back what is handed down there, and a service's next start would fail.
  const bool service = EndsWith(NameOf(parent), ".service");
  if (tree.delegated == false || (service && tree.delegated != true)) {
    return Status(Code::kDenied, "systemd has not delegated the cgroup that this runs in", kHow);
  }
  return Status::Ok();
}

// All that it holds, into a group beside; again for those that fork meanwhile.
Status HandDown(const LimitPlace& place, const std::string& controllers) {
  const std::string control = place.parent + "/cgroup.subtree_control";
  if (!place.move) {
    return WriteCgroup(control, controllers) ? Status::Ok()
                                             : ErrnoStatus("writing " + control, errno);
  }
  const std::string others = place.parent + "/" + kOthers;
  int error = 0;
  for (int i = 0; i < kMoves; ++i, usleep(1000)) {
    if (mkdir(others.c_str(), 0755) != 0 && errno != EEXIST) {
      return ErrnoStatus("making cgroup " + others, errno);
    }
    for (const std::string& pid : WordsIn(place.parent + "/cgroup.procs")) {
      (void)WriteCgroup(others + "/cgroup.procs", pid);  // it may have ended
    }
    if (WriteCgroup(control, controllers)) return Status::Ok();
    error = errno;
    if (error != EBUSY) break;
  }
  return ErrnoStatus("writing " + control, error);
}

Status WriteLimit(const std::string& path, const std::string& value) {
  return WriteCgroup(path, value) ? Status::Ok() : ErrnoStatus("writing " + path, errno);
}

Status WriteLimits(const std::string& cgroup, const LimitPlace& place, const TaskLimits& limits) {
  if (limits.memory > 0 && place.memory) {
    STOKER_TRY(WriteLimit(cgroup + "/memory.max", std::to_string(limits.memory)));
    // Kernels that do not count swap have no such file.
    const std::string swap = cgroup + "/memory.swap.max";
    if (sys::FileExists(swap)) STOKER_TRY(WriteLimit(swap, "0"));
    // One that lost a process of several would wait for it.
    const std::string group = cgroup + "/memory.oom.group";
    if (sys::FileExists(group)) STOKER_TRY(WriteLimit(group, "1"));
  }
  if (limits.cpus > 0 && place.cpus) {
    const int64_t quota = std::max(limits.cpus * kPeriodUs / 1000, kLeastQuotaUs);
    STOKER_TRY(
        WriteLimit(cgroup + "/cpu.max", std::to_string(quota) + " " + std::to_string(kPeriodUs)));
  }
  return Status::Ok();
}

}  // namespace

Result<CgroupTree> ThisCgroupTree() {
  CgroupTree tree;
  STOKER_ASSIGN(const std::string mountinfo, sys::ReadFile("/proc/self/mountinfo"));
  tree.mount = Cgroup2Mount(mountinfo);
  STOKER_ASSIGN(tree.own, OwnCgroup());
  tree.root = geteuid() == 0;
  tree.delegated = SaysDelegated(tree.mount, tree.own);
  return tree;
}

Result<LimitPlace> FindLimitPlace(const CgroupTree& tree) {
  LimitPlace place;
  place.parent = NameOf(tree.own) == kOthers ? ParentOf(tree.own) : tree.own;
  // What is not delegated is systemd's. Its slices hold units alone; the root holds what is root's.
  if (tree.root && tree.delegated != true) place.parent = tree.mount;
  STOKER_TRY(Movable(
      {tree.mount, tree.own, tree.root, tree.root ? std::optional<bool>(true) : tree.delegated},
      place.parent));
  const std::vector<std::string> there = WordsIn(place.parent + "/cgroup.controllers");
  place.memory = Has(there, "memory");
  place.cpus = Has(there, "cpu");
  const std::string lacking = "the cgroup version 2 of this machine has no controller for ";
  if (!place.memory && !place.cpus) {
    return Status(Code::kNotFound, lacking + "memory and CPUs where this runs");
  }
  if (!place.memory) place.why_not_all = lacking + "memory where this runs";
  if (!place.cpus) place.why_not_all = lacking + "CPUs where this runs";
  const std::vector<std::string> down = WordsIn(place.parent + "/cgroup.subtree_control");
  const bool handed = (!place.memory || Has(down, "memory")) && (!place.cpus || Has(down, "cpu"));
  place.move =
      !handed && !IsRealRoot(place.parent) && !WordsIn(place.parent + "/cgroup.procs").empty();
  return place;
}

Result<std::string> MakeLimitedCgroup(const LimitPlace& place, const TaskLimits& limits) {
  std::string controllers = place.memory ? "+memory" : "";
  if (place.cpus) controllers += controllers.empty() ? "+cpu" : " +cpu";
  STOKER_TRY(HandDown(place, controllers));
  STOKER_ASSIGN(const std::string cgroup, MakeCgroupIn(place.parent));
  const Status written = WriteLimits(cgroup, place, limits);
  if (written.ok()) return cgroup;
  rmdir(cgroup.c_str());
  return written;
}

void TaskLimiter::Ask(const TaskLimits& limits) {
  const std::lock_guard lock(mutex_);
  limits_ = limits;
}

std::string TaskLimiter::TakeComplaint() {
  const std::lock_guard lock(mutex_);
  std::string out;
  out.swap(complaint_);
  return out;
}

int64_t TaskLimiter::exceeded() const {
  const std::lock_guard lock(mutex_);
  return exceeded_;
}

// Of what was asked for and is not held.
void TaskLimiter::Complain(bool memory, bool cpus, const std::string& why) {
  memory = memory && limits_.memory > 0;
  cpus = cpus && limits_.cpus > 0;
  if (complained_ || (!memory && !cpus)) return;
  complained_ = true;
  complaint_ = memory ? "memory (" + HumanSize(limits_.memory) + ")" : "";
  if (cpus) complaint_ += (memory ? std::string(" and ") : "") + "CPUs";
  complaint_ += memory && !cpus ? " is counted here and not enforced: "
                                : " are counted here and not enforced: ";
  complaint_ += why;
}

TaskLimits TaskLimiter::asked() {
  const std::lock_guard lock(mutex_);
  exceeded_ = 0;
  return limits_;
}

std::string TaskLimiter::MakeGroup() {
  const std::lock_guard lock(mutex_);
  exceeded_ = 0;
  if (limits_.none() || given_up_) return "";
  const auto tree = ThisCgroupTree();
  const auto place = tree.ok() ? FindLimitPlace(*tree) : Result<LimitPlace>(tree.status());
  if (!place.ok()) {
    Complain(true, true, place.status().ToString());
    return "";
  }
  Complain(!place->memory, !place->cpus, place->why_not_all);
  if ((limits_.memory == 0 || !place->memory) && (limits_.cpus == 0 || !place->cpus)) return "";
  const auto made = MakeLimitedCgroup(*place, limits_);
  if (!made.ok()) Complain(true, true, made.status().ToString());
  return made.value_or("");
}

void TaskLimiter::GiveUp(const Status& why) {
  const std::lock_guard lock(mutex_);
  given_up_ = true;
  Complain(true, true, why.ToString());
}

void TaskLimiter::OutOfMemory(const std::string& group) {
  const std::lock_guard lock(mutex_);
  if (limits_.memory == 0) return;
  // Counted in the group whose limit it was, and those above it; not in those below.
  const auto reached = CgroupValue(group, "memory.events", "oom");
  const auto bytes = [&group](const char* file) {
    const std::string text = sys::ReadFile(group + file, 64).value_or("");
    return WholeNumber(text.substr(0, text.find('\n')), 0, INT64_MAX).value_or(0);
  };
  // Version 1 has no such count: the most that it had, less what the kernel gives out at once.
  const bool full = !reached && bytes("/memory.max_usage_in_bytes") + kAtOnce >= limits_.memory;
  if (full || reached.value_or(0) > 0) exceeded_ = limits_.memory;
}

}  // namespace stoker
