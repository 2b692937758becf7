// SPDX-License-Identifier: Apache-2.0
// How the time of an interruption notice is spent. Pure arithmetic.
#pragma once

#include <algorithm>

#include "base/time.h"

namespace stoker {

// Times before the notice's deadline at which a node stops its program.
struct DrainPlan {
  Duration term_before;  // SIGTERM this long before the deadline
  Duration kill_before;  // SIGKILL this long before the deadline; what is left is for the uploads
};

// `lead` = deadline minus when the notice was seen. Long notices are used for training (AWS gives
// 120 s; leaving at once throws most of it away); short ones almost wholly for saving.
inline DrainPlan PlanDrain(Duration lead) {
  const Duration margin{std::clamp<int64_t>(lead.ms / 4, 0, 25'000)};
  return {margin, margin * 2 / 3};
}

// Until when what is left is saved when the machine is taken at `deadline`; the rest of the time is
// for saying what could not be saved, which must leave the machine, too.
inline MonoTime BeforeLastWords(MonoTime deadline, MonoTime now) {
  const int64_t left = std::max<int64_t>(0, (deadline - now).ms);
  return deadline - Duration::Ms(std::min<int64_t>(1000, left / 2));
}

// A node that has not told its end so long after the deadline of its notice is given up: the others
// stop. What is begun anew waits until its machine is seen to be gone: the notice may have been
// withdrawn while the node could not reach the store.
inline constexpr Duration kDrainSlack = Duration::Seconds(60);

}  // namespace stoker
