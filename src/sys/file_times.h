// SPDX-License-Identifier: Apache-2.0
// Times of files, which anybody sets to anything.
#pragma once

#include <sys/stat.h>

#include <algorithm>
#include <cstdint>

namespace stoker::sys {

// Nanoseconds since 1970. What lies beyond the years that 64 bits hold (1677 to 2262) is at their
// end.
inline int64_t NanosOf(const timespec& time) {
  constexpr int64_t kFar = 9'223'372'035;  // seconds
  return std::clamp<int64_t>(time.tv_sec, -kFar, kFar) * 1'000'000'000 + time.tv_nsec;
}

}  // namespace stoker::sys
