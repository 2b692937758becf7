// SPDX-License-Identifier: Apache-2.0
// What a place has and what of it is free at this moment, for people who choose where to run. Not
// what decisions go by: those ask for machines and hear yes or no.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"

namespace stoker {

struct GpuShare {
  std::string name;  // as the place says: "NVIDIA L4", "a100"; "" = it does not
  int total = 0;
  std::optional<int> free;  // unset = not known
};

struct PlaceInfo {
  std::string infra;    // what --infra takes: "local", "slurm/gpu", "ssh/lab"
  std::string part;     // which of its machines, where they differ: "box1"; "" = all of them
  std::string trouble;  // why nothing else is known of it; "" = it answered
  // Of all its machines together; unset = not known.
  std::optional<int64_t> cpus, free_cpus;      // in thousandths
  std::optional<int64_t> memory, free_memory;  // bytes
  std::vector<GpuShare> gpus;
  int machines = 1;                // that it is made of
  std::optional<int64_t> running;  // jobs there, whoever's
  std::optional<int64_t> waiting;  // in its queue
  std::optional<Duration> limit;   // a job there runs at most so long
  std::optional<int64_t> price;    // in millionths an hour and machine
  // Engines for containers that are installed there, "podman"; unset = not known.
  std::optional<std::vector<std::string>> engines;
};

}  // namespace stoker
