// SPDX-License-Identifier: Apache-2.0
// Whether two sources say the same of a name. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/time.h"

namespace stoker::node {

struct Recent {
  int64_t step = 0;
  WallTime time;
  double value = 0;
};

// Two loggers of one program are written at different times: each point is held against the newest
// kHeld of the other. Not thread-safe; at most 48 KiB.
class SamePoints {
 public:
  static constexpr size_t kHeld = 1000;
  enum class Verdict { kOpen, kSame, kOther };
  enum Side { kBetter = 0, kWorse = 1 };

  void Add(Side side, const Recent& point);
  // kOpen: nothing of both could be compared, or too little.
  Verdict verdict() const;
  // The same at the end, when no more comes.
  Verdict Final() const { return same_ > other_ ? Verdict::kSame : Verdict::kOther; }
  const std::vector<Recent>& held(Side side) const { return held_[side]; }

 private:
  std::array<std::vector<Recent>, 2> held_;
  int64_t same_ = 0;
  int64_t other_ = 0;
};

// Adds it, and lets the oldest go where there are more than kHeld.
void Hold(const Recent& point, std::vector<Recent>* held);

}  // namespace stoker::node
