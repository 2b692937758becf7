// SPDX-License-Identifier: Apache-2.0
// How long a node goes on trying to keep what its program has left. Pure.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace stoker {

// While nothing of it gets into the store; the machine is paid for meanwhile.
inline constexpr Duration kKeepTrying = Duration::Hours(1);

class SavePatience {
 public:
  // `saved`: how much has got there so far, in anything that only grows.
  SavePatience(int64_t saved, MonoTime now) : saved_(saved), progress_(now) {}

  // After a try that failed: is it the last? `hurried`: a cancel's time to save is over.
  bool Ends(int64_t saved, bool hurried, MonoTime now);

 private:
  int64_t saved_;
  MonoTime progress_;
};

}  // namespace stoker
