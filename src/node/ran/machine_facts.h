// SPDX-License-Identifier: Apache-2.0
// The machine that a program runs on: kernel, system, processors, NVIDIA's driver.
#pragma once

#include <string>
#include <string_view>

#include "job/run_facts.h"

namespace stoker::node {

// What cannot be read stays as it is, and the system's name where `facts.image` has one of its own.
// Asks nvidia-smi, for 10 s at most, where the driver is
// loaded.
void AddMachineFacts(RunFacts& facts);

// "550.54.15", of /proc/driver/nvidia/version. These are pure, and "" where it is not there.
std::string DriverVersion(std::string_view text);
// "12.4", of what nvidia-smi prints without arguments.
std::string CudaVersion(std::string_view text);
// "Debian GNU/Linux 12 (bookworm)", of /etc/os-release.
std::string OsName(std::string_view text);
// Of /proc/cpuinfo.
std::string CpuModel(std::string_view text);

}  // namespace stoker::node
