// SPDX-License-Identifier: Apache-2.0
// When waiting log lines go to the store, and how long a failing store is left alone. Pure.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/prng.h"
#include "base/time.h"
#include "port/object_store.h"

namespace stoker {

// So much text makes a segment without waiting any longer.
inline constexpr int64_t kSegmentBytes = 1 << 20;
// Who follows a log writes paths::Follow so often, and counts as following for so long after it.
inline constexpr Duration kFollowMark = Duration::Seconds(10);
inline constexpr Duration kFollowFresh = Duration::Seconds(25);

// How long the agent waits before it looks for followers again, only while lines wait: a mark is a
// get. `since`: it last saw one, or began to look. Whoever comes within a minute of that sees lines
// at once; where nobody has followed for long, whoever comes waits somewhat longer for the first.
inline Duration FollowCheck(bool followed, Duration since) {
  if (!followed && since < Duration::Minutes(1)) return Duration::Seconds(1);
  return Duration::Seconds(since < Duration::Minutes(10) ? 5 : 10);
}

// How long a follower waits before it looks for lines again, `silent` after it last got some. When
// they have not come for longer than a line may wait for others, none waits: the next one goes to
// the store at once, and a longer pause does not make it later than a line among many.
inline Duration FollowPause(const StoreTraits& traits, Duration silent) {
  const bool none_waits = silent >= traits.follow_flush + traits.follow;
  return traits.requests_are_free || !none_waits ? traits.follow : traits.follow * 5 / 2;
}

// How long what is said before the program begins waits for its first line.
inline constexpr Duration kFirstWait = Duration::Ms(200);

struct FlushInput {
  MonoTime now;
  int64_t waiting_bytes = 0;
  std::optional<MonoTime> last;  // when the newest segment was put; nullopt = none yet
  Duration interval;             // between segments: the store's flush or follow_flush
  bool ending = false;           // the program has ended: everything at once
  std::optional<MonoTime> since = std::nullopt;  // when the first line of all was seen
};

struct FlushChoice {
  bool flush = false;
  MonoTime wake;  // when not flush and something waits: decide again then
};

// The first line after a silence goes at once; what follows within `interval` goes together. What
// was said before the program began waits for its first line, which comes soon where there is no
// setup: one object fewer, and nothing is written just when the program starts.
inline FlushChoice DecideFlush(const FlushInput& in) {
  if (in.waiting_bytes <= 0) return {false, in.now + in.interval};
  if (in.ending || in.waiting_bytes >= kSegmentBytes) return {true, in.now};
  if (!in.last && !in.since) return {true, in.now};
  const MonoTime due = in.last ? *in.last + in.interval : *in.since + kFirstWait;
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
