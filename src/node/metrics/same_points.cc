// SPDX-License-Identifier: Apache-2.0
#include "node/metrics/same_points.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace stoker::node {
namespace {

// Event files hold floats, tables the text of a number.
bool Same(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return a == b || std::abs(a - b) <= 1e-5 * std::max(std::abs(a), std::abs(b));
}

}  // namespace

void Hold(const Recent& point, std::vector<Recent>* held) {
  if (held->size() >= SamePoints::kHeld) {
    held->erase(held->begin(), held->begin() + SamePoints::kHeld / 4);
  }
  held->push_back(point);
}

void SamePoints::Add(Side side, const Recent& point) {
  const std::vector<Recent>& others = held_[1 - side];
  std::vector<Recent>& own = held_[side];
  const int64_t before = own.empty() ? point.step : own.back().step;
  bool at_step = false;
  bool same = false;
  int64_t least = std::numeric_limits<int64_t>::max();
  int64_t most = std::numeric_limits<int64_t>::min();
  for (const Recent& other : others) {
    least = std::min(least, other.step);
    most = std::max(most, other.step);
    at_step |= other.step == point.step;
    same |= other.step == point.step && Same(other.value, point.value);
    // The better one has passed a step that only the worse one has.
    if (side == kBetter && other.step > before && other.step < point.step) ++other_;
  }
  if (same) ++same_;
  if (!same && (at_step || (side == kWorse && least < point.step && point.step < most))) ++other_;
  Hold(point, &own);
}

SamePoints::Verdict SamePoints::verdict() const {
  if (same_ >= 3 && other_ * 4 <= same_) return Verdict::kSame;
  if (other_ > same_ + 2 || (other_ > 0 && same_ == 0)) return Verdict::kOther;
  return Verdict::kOpen;
}

}  // namespace stoker::node
