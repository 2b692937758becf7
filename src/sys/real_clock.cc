// SPDX-License-Identifier: Apache-2.0
#include "sys/real_clock.h"

#include <time.h>

namespace stoker {
namespace {

int64_t ReadMs(clockid_t id) {
  timespec t{};
  clock_gettime(id, &t);
  return static_cast<int64_t>(t.tv_sec) * 1000 + t.tv_nsec / 1'000'000;
}

}  // namespace

MonoTime RealClock::Mono() { return {ReadMs(CLOCK_MONOTONIC)}; }
WallTime RealClock::Wall() { return {ReadMs(CLOCK_REALTIME)}; }

}  // namespace stoker
