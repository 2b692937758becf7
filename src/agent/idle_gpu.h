// SPDX-License-Identifier: Apache-2.0
// limits.idle_gpu: whether a node has GPUs for nothing. Pure.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "base/time.h"

namespace stoker {

// How busy the busiest of the GPUs in `sample` is, in percent, of which only those of `mine` count;
// unset = all do. `sample` is JSON as sys/task/gpu_usage.h has it. nullopt: nobody knows, also
// where one of them does not say, or there is none.
std::optional<double> BusiestGpu(const std::string& sample,
                                 const std::optional<std::set<int>>& mine);

// Stepped, with a look every few seconds while the program runs.
class IdleGpu {
 public:
  IdleGpu(int below, Duration span) : below_(below), span_(span) {}
  // The program begins: from now on it counts.
  void Begin(MonoTime now);
  // What it proves, with its numbers, for people. Where nobody knows how busy they are, they count
  // as busy.
  std::optional<std::string> Take(MonoTime now, std::optional<double> busiest);

 private:
  const int below_;
  const Duration span_;
  MonoTime since_;   // when they were last busy
  double most_ = 0;  // percent, since then
};

}  // namespace stoker
