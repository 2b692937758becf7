// SPDX-License-Identifier: Apache-2.0
#include "sys/container/machine.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/text.h"
#include "sys/file.h"
#include "sys/task/usage.h"

namespace stoker {
namespace {

constexpr size_t kMostStatus = 64 << 10;
constexpr char kSecondVersion[] = "/sys/fs/cgroup/cgroup.controllers";
constexpr char kAmd[] = "/dev/kfd";

// Of a line of /proc/PID/status (proc(5)), by its name; "" = there is none.
std::string StatusLine(const std::string& pid, const std::string& name) {
  const auto text = sys::ReadFile("/proc/" + pid + "/status", kMostStatus);
  for (const std::string& line : Split(text.value_or(""), '\n')) {
    if (StartsWith(line, name + ":")) return line.substr(name.size() + 1);
  }
  return "";
}

// Whether this process may have all capabilities; where that cannot be seen, it may.
bool HasAllCapabilities() {
  const std::string last = sys::ReadFile("/proc/sys/kernel/cap_last_cap", 64).value_or("");
  const auto highest = WholeNumber(last.substr(0, last.find('\n')), 0, 62);
  const std::string line = StatusLine("self", "CapPrm");
  const size_t at = line.find_first_not_of(" \t");
  if (!highest || at == std::string::npos) return true;
  const uint64_t all = (uint64_t{2} << *highest) - 1;
  return (std::stoull(line.substr(at), nullptr, 16) & all) == all;
}

std::vector<int> OtherGroups(int own) {
  std::vector<gid_t> groups(static_cast<size_t>(std::max(0, getgroups(0, nullptr))));
  const int count = getgroups(static_cast<int>(groups.size()), groups.data());
  groups.resize(static_cast<size_t>(std::max(0, count)));
  std::vector<int> out;
  for (const gid_t group : groups) {
    const int number = static_cast<int>(group);
    if (number != own && number >= 0) out.push_back(number);  // docker takes no larger ones
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

bool IsThere(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 || (errno != ENOENT && errno != ENOTDIR);
}

// What is named of the machine: SOURCE of "SOURCE:TARGET".
Status CheckSource(const char* key, const std::string& written, const char* next) {
  const std::string source = written.substr(0, written.find(':'));
  if (!StartsWith(source, "/") || IsThere(source)) return Status::Ok();
  return Status(Code::kInvalid, std::string(key) + ": " + source + " is not on this machine", next);
}

}  // namespace

void LearnOfMachine(ContainerPlan* plan) {
  plan->machine_memory = ReadMachineUsage().memory_bytes;
  plan->groups = OtherGroups(plan->gid);
  // An ordinary user's podman limits nothing with cgroups of version 1, and would say so.
  plan->holds_pids = plan->uid == 0 || sys::FileExists(kSecondVersion);
  plan->whole_root = HasAllCapabilities();
}

Status CheckSources(const ContainerSpec& spec) {
  for (const std::string& one : spec.volumes) {
    STOKER_TRY(CheckSource("container.volumes", one,
                           "Make it there, or correct its path: volumes are paths of the machine "
                           "that the job runs on"));
  }
  for (const std::string& one : spec.devices) {
    STOKER_TRY(CheckSource("container.devices", one, "Leave it out, or load its driver there"));
  }
  return Status::Ok();
}

std::vector<std::string> AmdDevices() {
  if (!IsThere(kAmd)) return {};
  std::vector<std::string> out = {kAmd};
  if (IsThere("/dev/dri")) out.emplace_back("/dev/dri");
  return out;
}

std::string TellLostGroups(const ContainerPlan& plan, pid_t pid) {
  std::string line = StatusLine(std::to_string(pid), "Groups");
  if (plan.uid == 0 || line.empty()) return "";
  std::replace(line.begin(), line.end(), '\t', ' ');
  std::string out;
  for (const int group : plan.groups) {
    const std::string number = std::to_string(group);
    if ((" " + line + " ").find(" " + number + " ") != std::string::npos) continue;
    out += (out.empty() ? "" : ", ") + number;
  }
  return out;
}

}  // namespace stoker
