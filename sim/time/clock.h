// SPDX-License-Identifier: Apache-2.0
// What one machine believes the time to be.
#pragma once

#include "port/clock.h"
#include "sim/time/scheduler.h"

namespace stoker::sim {

// The world begins at this date; machines whose clock is right show it plus Scheduler::now().
inline constexpr int64_t kEpochMs = 1'767'225'600'000;  // 2026-01-01

// Mono runs with true time from a start of its own, and stands still while the machine sleeps; Wall
// is off by `skew` and can be stepped.
class SimClock : public Clock {
 public:
  explicit SimClock(Scheduler& scheduler) : scheduler_(scheduler) {}
  MonoTime Mono() override { return {scheduler_.now() + mono_offset}; }
  WallTime Wall() override { return {kEpochMs + scheduler_.now() + skew}; }

  int64_t mono_offset = 1'000;
  int64_t skew = 0;

 private:
  Scheduler& scheduler_;
};

}  // namespace stoker::sim
