// SPDX-License-Identifier: Apache-2.0
// How busy this machine is.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace stoker {

struct MachineUsage {
  int cpus = 0;             // that this process may use
  double busy_seconds = 0;  // of all CPUs since boot; take differences
  double load = 0;          // runnable, one-minute average
  int64_t memory_bytes = 0;
  int64_t memory_available_bytes = 0;  // without swapping, as the kernel estimates
};

struct DiskSpace {
  int64_t total_bytes = 0;
  int64_t available_bytes = 0;  // to this user
};

// Out of /proc/stat, /proc/loadavg and /proc/meminfo; what cannot be read stays 0.
MachineUsage ReadMachineUsage();
MachineUsage ParseMachineUsage(std::string_view stat, std::string_view loadavg,
                               std::string_view meminfo);

// Of the file system that holds `path`.
Result<DiskSpace> ReadDiskSpace(const std::string& path);

}  // namespace stoker
