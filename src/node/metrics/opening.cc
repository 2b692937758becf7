// SPDX-License-Identifier: Apache-2.0
#include "node/metrics/opening.h"

#include <utility>

namespace stoker::node {
namespace {

constexpr size_t kMostHeld = 500;

}  // namespace

bool Opening::Take(const std::string& prefix, std::string_view name, const metrics::Point& point) {
  if (over_) return false;
  const int64_t step = *point.step;
  if (held_.empty() && step > 1) {
    over_ = true;
    return false;
  }
  if (held_.empty()) first_ = step;
  held_.push_back({prefix, std::string(name), point});
  if (step > 1) {
    const auto [next, fresh] = next_.try_emplace(prefix + std::string(name), step);
    if (!fresh && step > next->second) {
      stray_ = next->second - first_ > 4 * (step - next->second);
      over_ = true;
    }
  }
  over_ |= held_.size() >= kMostHeld;
  return true;
}

std::vector<Opening::Held> Opening::Give() {
  over_ = true;
  if (stray_) std::erase_if(held_, [](const Held& one) { return *one.point.step <= 1; });
  return std::exchange(held_, {});
}

std::optional<int64_t> Opening::TakeStray() {
  if (!stray_ || std::exchange(told_, true)) return std::nullopt;
  return first_;
}

}  // namespace stoker::node
