// SPDX-License-Identifier: Apache-2.0
#include "policy/boots.h"

#include <map>

namespace stoker {

std::string WhyBootsFail(const Job& job) {
  // What works once is no matter of how the place is set up.
  if (job.booted) return "";
  std::map<int, int> in_a_row;  // by slot
  for (const Launch& launch : job.launches) {
    // Others never came, or are still to show.
    if (launch.close_reason != CloseReason::kLost) continue;
    int& failed = in_a_row[launch.slot];
    failed = launch.boot_lasts ? failed + 1 : 0;
    if (failed < kMostFailedBoots) continue;
    return std::to_string(failed) +
           " machines in a row could not begin, and no other would: " + launch.close_why;
  }
  return "";
}

}  // namespace stoker
