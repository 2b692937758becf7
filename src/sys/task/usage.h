// SPDX-License-Identifier: Apache-2.0
// How busy this machine is.
#pragma once

#include <cstdint>
#include <functional>
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

// Since boot, by the kernel's count; take differences. What goes past it (RDMA) is not in it.
struct NetworkBytes {
  int64_t received = 0;
  int64_t sent = 0;
};

// Of this network namespace: of its devices, or of all its interfaces but loopback where it has no
// device, as in a container. Bridges and tunnels, whose traffic goes through a device, do not count
// beside it. What cannot be read stays 0.
NetworkBytes ReadNetworkBytes();
// `dev` is /proc/net/dev.
NetworkBytes ParseNetworkBytes(std::string_view dev,
                               const std::function<bool(const std::string& name)>& is_device);

// Out of /proc/stat, /proc/loadavg and /proc/meminfo; what cannot be read stays 0.
MachineUsage ReadMachineUsage();
MachineUsage ParseMachineUsage(std::string_view stat, std::string_view loadavg,
                               std::string_view meminfo);

// Of the file system that holds `path`.
Result<DiskSpace> ReadDiskSpace(const std::string& path);

}  // namespace stoker
