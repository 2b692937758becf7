// SPDX-License-Identifier: Apache-2.0
// How much of the machine a task uses: the latest figures go into the node's report, and the whole
// course of an attempt into one small object, jobs/<job>/usage/<attempt>-<rank>.json.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "job/job.h"
#include "node/attempt/running.h"
#include "port/clock.h"
#include "port/object_store.h"
#include "sys/folder_meter.h"
#include "sys/task/gpu_usage.h"
#include "sys/task/usage.h"

namespace stoker::node {

struct UsageSample {
  int64_t at_ms = 0;       // since the attempt's first sample
  double cpu_seconds = 0;  // of the task so far, as it was read at `cpu_at_ms`
  int64_t cpu_at_ms = 0;   // on the scale of at_ms; never behind it
  int64_t resident_bytes = 0;
  int64_t disk_used_bytes = 0;        // of the file system that the node works on
  std::optional<int64_t> work_bytes;  // in the work directory, as it was last counted
  NetworkBytes network;               // of the machine, since its boot
  std::string gpu;                    // JSON, "" = none
};

// At most `most` samples: when there are more, every second one is dropped and the spacing
// doubles, so that a week's course stays small and even.
class UsageCourse {
 public:
  explicit UsageCourse(size_t most = 512) : most_(most) {}
  void Add(UsageSample sample);
  const std::vector<UsageSample>& samples() const { return samples_; }
  std::string Json() const;
  void Clear();

 private:
  const size_t most_;
  int64_t spacing_ms_ = 0;
  std::vector<UsageSample> samples_;
};

// Used by one thread.
class UsageSampler {
 public:
  // `own`: the GPUs that this machine was given of a computer that several share; unset: all.
  UsageSampler(ObjectStore& store, Clock& clock, std::optional<std::set<int>> own);
  // Fills the figures that concern the machine, adds a sample, and stores the course when it is due
  // or the report is the attempt's last.
  // `run`: of the program, as the report has it.
  void Sample(NodeReport& report, const std::string& dir, const UsageInput& run);
  // Whether there is something that says how busy its GPUs are; and its newest sample of them, as
  // GpuSampler has it. Any thread.
  bool has_gpus() const { return gpu_ != nullptr; }
  std::string LatestGpus();

 private:
  ObjectStore& store_;
  Clock& clock_;
  const std::optional<std::set<int>> own_;
  std::unique_ptr<GpuSampler> gpu_;  // null also where it has no GPU
  UsageCourse course_;
  int attempt_ = 0;
  MonoTime begun_;
  MonoTime stored_;
  sys::FolderMeter work_;
};

}  // namespace stoker::node
