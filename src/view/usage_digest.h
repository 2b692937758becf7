// SPDX-License-Identifier: Apache-2.0
// What the course of an attempt on a node (jobs/<job>/usage/) comes to: mean and peak.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "job/job.h"
#include "port/object_store.h"

namespace stoker {

struct MeanAndPeak {
  double mean = 0;
  double peak = 0;
};

// While the program ran; what came before and after it does not count.
struct UsageDigest {
  int attempt = 0;
  int rank = 0;
  Duration span;          // from the first sample to the last
  MeanAndPeak cpu_cores;  // the peak: over a second or more
  MeanAndPeak resident_bytes;
  int gpus = 0;                  // 0 = none was seen
  MeanAndPeak gpu_busy_percent;  // of all GPUs together: 100 = all are busy
  MeanAndPeak gpu_memory_bytes;  // of all GPUs together
};

// `text` is untrusted. kCorrupt when it is no course; nullopt when the program has no sample in it.
Result<std::optional<UsageDigest>> DigestUsage(std::string_view text, int attempt, int rank);

// Of every attempt and node that has one, in this order. One listing, one read of each. What cannot
// be read is left out and `trouble` says so: no reason to show nothing.
std::vector<UsageDigest> ReadUsage(ObjectStore& store, const Job& job, Status* trouble);

// "CPU mean 0.9, peak 1.0 cores; memory mean 60 MB, peak 308 MB; 2 GPUs mean 40 %, …".
std::string UsageText(const UsageDigest& digest);
nlohmann::json UsageJson(const std::vector<UsageDigest>& all);

}  // namespace stoker
