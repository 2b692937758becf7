// SPDX-License-Identifier: Apache-2.0
#include "sys/task/usage.h"

#include <sched.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>

#include "base/text.h"
#include "sys/file.h"

namespace stoker {
namespace {

// "MemTotal:       24683520 kB"
int64_t MemoryLine(std::string_view meminfo, std::string_view key) {
  for (const std::string& line : Split(meminfo, '\n')) {
    if (!StartsWith(line, key)) continue;
    return std::strtoll(line.c_str() + key.size(), nullptr, 10) * 1024;
  }
  return 0;
}

}  // namespace

MachineUsage ParseMachineUsage(std::string_view stat, std::string_view loadavg,
                               std::string_view meminfo) {
  MachineUsage out;
  // "cpu  user nice system idle iowait irq softirq steal …": all but idle and iowait is work.
  const std::string cpu(stat.substr(0, stat.find('\n')));
  if (StartsWith(cpu, "cpu ")) {
    const char* at = cpu.c_str() + 4;
    int64_t busy = 0;
    for (int field = 0; field < 8; ++field) {
      char* end = nullptr;
      const int64_t value = std::strtoll(at, &end, 10);
      if (end == at) break;
      if (field != 3 && field != 4) busy += value;
      at = end;
    }
    out.busy_seconds = static_cast<double>(busy) / static_cast<double>(sysconf(_SC_CLK_TCK));
  }
  out.load = std::strtod(std::string(loadavg).c_str(), nullptr);
  out.memory_bytes = MemoryLine(meminfo, "MemTotal:");
  out.memory_available_bytes = MemoryLine(meminfo, "MemAvailable:");
  return out;
}

MachineUsage ReadMachineUsage() {
  MachineUsage out = ParseMachineUsage(sys::ReadFile("/proc/stat").value_or(""),
                                       sys::ReadFile("/proc/loadavg").value_or(""),
                                       sys::ReadFile("/proc/meminfo").value_or(""));
  cpu_set_t set;
  out.cpus = sched_getaffinity(0, sizeof set, &set) == 0
                 ? CPU_COUNT(&set)
                 : static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  return out;
}

// "  eth0: 1296 10 0 0 0 0 0 0 840 9 0 0 0 0 0 0": bytes are the first and the ninth.
NetworkBytes ParseNetworkBytes(std::string_view dev,
                               const std::function<bool(const std::string& name)>& is_device) {
  NetworkBytes devices;
  NetworkBytes all;
  bool has_device = false;
  for (const std::string& line : Split(dev, '\n')) {
    const size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const size_t begin = line.find_first_not_of(' ');
    const std::string name = line.substr(begin, colon - begin);
    if (name == "lo") continue;
    std::array<int64_t, 9> fields{};
    const char* at = line.c_str() + colon + 1;
    size_t read = 0;
    for (; read < fields.size(); ++read) {
      char* end = nullptr;
      fields[read] = std::strtoll(at, &end, 10);
      if (end == at) break;
      at = end;
    }
    if (read < fields.size()) continue;
    const bool device = is_device(name);
    has_device |= device;
    all.received += fields[0];
    all.sent += fields[8];
    devices.received += device ? fields[0] : 0;
    devices.sent += device ? fields[8] : 0;
  }
  return has_device ? devices : all;
}

NetworkBytes ReadNetworkBytes() {
  return ParseNetworkBytes(
      sys::ReadFile("/proc/net/dev").value_or(""), [](const std::string& name) {
        return ::access(("/sys/class/net/" + name + "/device").c_str(), F_OK) == 0;
      });
}

Result<DiskSpace> ReadDiskSpace(const std::string& path) {
  struct statvfs info {};
  if (statvfs(path.c_str(), &info) != 0) return ErrnoStatus("disk space of " + path, errno);
  const auto block = static_cast<int64_t>(info.f_frsize);
  return DiskSpace{static_cast<int64_t>(info.f_blocks) * block,
                   static_cast<int64_t>(info.f_bavail) * block};
}

}  // namespace stoker
