// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>

#include "base/status.h"
#include "base/time.h"
#include "contract/environment.h"
#include "port/clock.h"

namespace stoker::node {

// NVIDIA devices of this machine, by their device files: no driver call, so it answers at once and
// also where nvidia-smi is missing.
int CountGpus();
// "/dev/nvidia0", "/dev/nvidia2": what is there of `prefix` and a number from `first` on, in order.
std::vector<std::string> NumberedDevices(const std::string& prefix, int first);
// Those that the driver has found, which makes their device files only when somebody first asks for
// them, unless a service keeps it awake.
int CountDrivenGpus();

// Until `promised` of them are there: images for deep learning install the driver at their first
// boot, which takes minutes. Says once that it waits, and how it ended. kCancelled once `cancelled`
// says so; kNotFound after kGpusWithin, with how many there are.
inline constexpr Duration kGpusWithin = Duration::Minutes(15);
struct GpuWait {
  int promised = 0;
  std::function<int()> count = CountDrivenGpus;
  std::function<bool()> cancelled;
  std::function<void(const std::string& text)> say;
  Duration pause = Duration::Seconds(1);
};
Status AwaitGpus(const GpuWait& wait, Clock& clock);

struct GrantedGpus {
  int count = 0;
  contract::Environment variables;  // by which the program sees them and no others
};

// Those that a machine which several jobs share gave to this one: `text` is "cuda:0,2", "rocm:1" or
// "cuda:" for none (kGrantedGpus, provider/local/local_boot.h). nullopt = it is something else.
std::optional<GrantedGpus> ReadGrantedGpus(const std::string& text);
// Of NVIDIA's devices with these numbers ("2,3": /dev/nvidia2, /dev/nvidia3) what engines call
// them, which is by the order of their bus. `driver`: the driver's folder; without it they are as
// they were. nullopt = they are none.
std::optional<std::string> EngineGpus(const std::string& devices,
                                      const std::string& driver = "/proc/driver/nvidia/gpus");
// As ReadGrantedGpus("cuda:…") for who is given so many alone, and counts them from 0.
GrantedGpus CountedFromZero(int count);
// Their numbers as nvidia-smi counts; nullopt = `text` is something else: it has all that there
// are.
std::optional<std::set<int>> GrantedNumbers(const std::string& text);

// A sample as sys/task/gpu_usage.h has it, without the GPUs of others; "" when none is left.
std::string OnlyOwnGpus(const std::string& sample, const std::optional<std::set<int>>& own);

}  // namespace stoker::node
