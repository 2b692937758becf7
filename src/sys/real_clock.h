// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "port/clock.h"

namespace stoker {

// This machine's clocks: CLOCK_MONOTONIC and CLOCK_REALTIME. Thread-safe, stateless.
class RealClock : public Clock {
 public:
  MonoTime Mono() override;
  WallTime Wall() override;
};

}  // namespace stoker
