// SPDX-License-Identifier: Apache-2.0
// Two kinds of time that cannot be mixed up. Both are integers, so that arithmetic is the same on
// every machine and compiler. Nothing in layers 0-3 reads a clock: times come in as arguments or
// through port/clock.h.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace stoker {

// A length of time, in milliseconds; may be negative.
struct Duration {
  int64_t ms = 0;
  static constexpr Duration Ms(int64_t v) { return {v}; }
  static constexpr Duration Seconds(int64_t v) { return {v * 1000}; }
  static constexpr Duration Minutes(int64_t v) { return {v * 60'000}; }
  static constexpr Duration Hours(int64_t v) { return {v * 3'600'000}; }
  constexpr double seconds() const { return static_cast<double>(ms) / 1000.0; }
  auto operator<=>(const Duration&) const = default;
  constexpr Duration operator+(Duration o) const { return {ms + o.ms}; }
  constexpr Duration operator-(Duration o) const { return {ms - o.ms}; }
  constexpr Duration operator*(int64_t k) const { return {ms * k}; }
  constexpr Duration operator/(int64_t k) const { return {ms / k}; }
};

// A point of one machine's monotonic clock. Meaningless on any other machine or after a reboot.
struct MonoTime {
  int64_t ms = 0;
  auto operator<=>(const MonoTime&) const = default;
  constexpr MonoTime operator+(Duration d) const { return {ms + d.ms}; }
  constexpr MonoTime operator-(Duration d) const { return {ms - d.ms}; }
  constexpr Duration operator-(MonoTime o) const { return {ms - o.ms}; }
};

// Milliseconds since 1970 UTC. Says which machine's opinion it is where that matters: no decision
// compares wall times of two machines.
struct WallTime {
  int64_t ms = 0;
  auto operator<=>(const WallTime&) const = default;
  constexpr WallTime operator+(Duration d) const { return {ms + d.ms}; }
  constexpr WallTime operator-(Duration d) const { return {ms - d.ms}; }
  constexpr Duration operator-(WallTime o) const { return {ms - o.ms}; }
};

// "2026-11-21T15:04:05.123Z". ParseRfc3339 takes any fraction and only the zone Z or ±hh:mm.
std::string FormatRfc3339(WallTime t);
Result<WallTime> ParseRfc3339(std::string_view text);

// "90s", "30m", "8h", "2d", "500ms", "1h30m"; a bare number is refused. Exact inverse where a
// duration is whole in some unit.
Result<Duration> ParseDuration(std::string_view text);
std::string FormatDuration(Duration d);
// For people: "12s", "4m 10s", "3h 2m", "2d 4h".
std::string HumanDuration(Duration d);

}  // namespace stoker
