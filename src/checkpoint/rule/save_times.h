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

// Not thread-safe.
class SaveTimes {
 public:
  // Counts go up by one or more.
  void Began(int64_t saves, MonoTime at);
  // It turned out that there were no more than so many.
  void AreOnly(int64_t saves) { began_.erase(began_.upper_bound(saves), began_.end()); }
  std::optional<MonoTime> BeganAt(int64_t saves) const;

  // What began at `theirs` is clearly not the save of this count: it clearly is another of these,
  // or what has been begun since (`next`), and that is three times nearer.
  bool ClearlyAnother(int64_t saves, const Between& theirs, std::optional<MonoTime> next) const;
  // The count of the save that it clearly is: from that to the next one of these it is four times
  // as long as what may lie between.
  std::optional<int64_t> Clearly(const Between& theirs) const;

 private:
  bool Near(MonoTime at, const Between& theirs) const;

  std::map<int64_t, MonoTime> began_;  // the newest few
};

}  // namespace stoker
