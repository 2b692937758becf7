// SPDX-License-Identifier: Apache-2.0
// The only way to learn the time outside layers 4-5.
#pragma once

#include "base/time.h"

namespace stoker {

// Thread-safe. The simulator gives each machine its own, with skew and steps.
class Clock {
 public:
  virtual ~Clock() = default;
  // Never goes back; does not count while the machine sleeps on all platforms; only for intervals.
  virtual MonoTime Mono() = 0;
  // This machine's opinion of the date: for people, and for times that the same machine compares.
  virtual WallTime Wall() = 0;
};

}  // namespace stoker
