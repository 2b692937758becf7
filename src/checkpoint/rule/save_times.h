// SPDX-License-Identifier: Apache-2.0
// When the saves of one node began, by its count of them: tells whether another node's save can be
// the one that its count says, where no name has a number. Nodes that train together begin to save
// together, or one soon after the other. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "base/time.h"

namespace stoker {

// An instant of which it is known that it lies between two.
struct Between {
  MonoTime from{INT64_MIN / 8};
  MonoTime to{INT64_MAX / 8};
  Between operator-(Duration ago) const { return {from - ago, to - ago}; }
};

// How many times nearer another node's save must be to one of this node's than that is to the next
// of these to be it; and to change what is counted.
inline constexpr int kClearly = 10;
inline constexpr int kSurely = 20;

// Not thread-safe.
class SaveTimes {
 public:
  // Counts go up by one or more.
  void Began(int64_t saves, MonoTime at);
  // It turned out that there were no more than so many.
  void AreOnly(int64_t saves) { began_.erase(began_.upper_bound(saves), began_.end()); }
  std::optional<MonoTime> BeganAt(int64_t saves) const;

  // What began at `theirs` is clearly not the save of this count: from another of these, or from
  // what has been begun since (`next`), it is less than a kClearly-th of the time between the two.
  bool ClearlyAnother(int64_t saves, const Between& theirs, std::optional<MonoTime> next) const;
  // The count of the save that it clearly is: `times` nearer than to the save next to that.
  std::optional<int64_t> Clearly(const Between& theirs, int times) const;

 private:
  bool Near(MonoTime at, const Between& theirs, int times) const;

  std::map<int64_t, MonoTime> began_;  // the newest few
};

}  // namespace stoker
