// SPDX-License-Identifier: Apache-2.0
// When waiting log lines go to the store, and how long a failing store is left alone. Pure.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/prng.h"
#include "base/time.h"

namespace stoker {

// So much text makes a segment without waiting any longer.
inline constexpr int64_t kSegmentBytes = 1 << 20;
// A follower rewrites paths::Follow at least this often while it follows.
inline constexpr Duration kFollowFresh = Duration::Seconds(15);
// How often the agent looks for followers, and only while lines wait: about $0.20 a month at most.
inline constexpr Duration kFollowCheck = Duration::Seconds(5);

struct FlushInput {
  MonoTime now;
  int64_t waiting_bytes = 0;
  std::optional<MonoTime> last;  // when the newest segment was put; nullopt = none yet
  Duration interval;             // between segments: the store's flush or follow_flush
  bool ending = false;           // the program has ended: everything at once
};

struct FlushChoice {
  bool flush = false;
  MonoTime wake;  // when not flush and something waits: decide again then
};

// The first line after a silence goes at once; what follows within `interval` goes together.
inline FlushChoice DecideFlush(const FlushInput& in) {
  if (in.waiting_bytes <= 0) return {false, in.now + in.interval};
  if (in.ending || !in.last || in.waiting_bytes >= kSegmentBytes) return {true, in.now};
  MonoTime due = *in.last + in.interval;
  return {due <= in.now, due};
}

// Before try number `failures` + 1: 100 ms doubling to 10 s, each between half and all of that so
// that the nodes of a job do not come back in step.
inline Duration RetryDelay(int failures, Prng& prng) {
  int64_t full = int64_t{100} << std::clamp(failures - 1, 0, 7);
  full = std::min<int64_t>(full, 10'000);
  return Duration::Ms(prng.Between(full / 2, full));
}

}  // namespace stoker
