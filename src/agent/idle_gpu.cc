// SPDX-License-Identifier: Apache-2.0
#include "agent/idle_gpu.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "base/text.h"

namespace stoker {

std::optional<double> BusiestGpu(const std::string& sample,
                                 const std::optional<std::set<int>>& mine) {
  const auto gpus = nlohmann::json::parse(sample, nullptr, false);
  if (!gpus.is_array()) return std::nullopt;
  std::optional<double> most;
  for (const auto& gpu : gpus) {
    const auto index = gpu.find("index");
    if (index == gpu.end() || !index->is_number_integer()) continue;
    if (mine && !mine->contains(index->get<int>())) continue;
    const auto busy = gpu.find("busy_percent");
    if (busy == gpu.end() || !busy->is_number()) return std::nullopt;
    most = std::max(most.value_or(0), busy->get<double>());
  }
  return most;
}

void IdleGpu::Begin(MonoTime now) {
  since_ = now;
  most_ = 0;
}

std::optional<std::string> IdleGpu::Take(MonoTime now, std::optional<double> busiest) {
  if (!busiest || *busiest >= below_) {
    Begin(now);
    return std::nullopt;
  }
  most_ = std::max(most_, *busiest);
  if (now - since_ < span_) return std::nullopt;
  return fmt::format("no GPU of this node was busier than {:.3g} % for {} (limits.idle_gpu: {} %)",
                     most_, HumanDuration(now - since_), below_);
}

}  // namespace stoker
