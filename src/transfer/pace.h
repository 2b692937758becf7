// SPDX-License-Identifier: Apache-2.0
// How many transfers are under way at once. Pure: it is told what came of the last interval.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace stoker {

// Doubles at first, while that moves more; then additive increase, while more of them move more,
// and multiplicative decrease when the other side says that it is too much. As many workers as are
// needed and no more: a worker that gains nothing costs memory and processor time here and requests
// there. Not thread-safe.
class Pace {
 public:
  // Between 1 and `most`; `first` to begin with.
  Pace(int first, int most);
  int workers() const { return workers_; }
  // What the last `time` moved, and how often it was to slow down in it. `small` files count for
  // more than their bytes: each is a round trip.
  void Note(int64_t bytes, int64_t files, int64_t slow_downs, Duration time);

 private:
  enum class Trial { kNone, kMore, kFewer };
  void Try(Trial trial, int workers, double rate);

  const int most_;
  int workers_;
  int before_ = 0;   // the trial
  double rate_ = 0;  // before the trial
  Trial trial_ = Trial::kNone;
  int rest_ = 0;  // intervals to wait before the next trial
  bool fewer_next_ = false;
  bool starting_ = true;  // nothing has gained too little yet
};

}  // namespace stoker
