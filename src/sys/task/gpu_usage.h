// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/time.h"

namespace stoker {

// One sample of all GPUs out of the lines of
// `nvidia-smi --query-gpu=index,name,utilization.gpu,memory.used,memory.total,temperature.gpu,
// power.draw --format=csv,noheader,nounits`, as JSON:
// [{"index":0,"name":"…","busy_percent":93,"memory_used_mib":1,"memory_total_mib":2,
//   "temperature_c":61,"power_w":402.5}]. A value that is not a number ("[N/A]") is null; lines
//   that
// do not fit are left out; "" when none fits.
std::string GpuSampleJson(std::string_view csv);

// Asks nvidia-smi in its own loop. NVML itself cannot be loaded into a static binary.
class GpuSampler {
 public:
  // Null where there is no nvidia-smi in PATH. `program` is for tests.
  static std::unique_ptr<GpuSampler> Start(Duration interval,
                                           const std::string& program = "nvidia-smi");
  virtual ~GpuSampler() = default;  // ends nvidia-smi
  // The latest whole sample; "" before the first, and 3 intervals (at least 30 s) after the last.
  // Thread-safe.
  virtual std::string Latest() = 0;
};

}  // namespace stoker
