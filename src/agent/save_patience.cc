// SPDX-License-Identifier: Apache-2.0
#include "agent/save_patience.h"

#include "base/deliberate_bug.h"

namespace stoker {

bool SavePatience::Ends(int64_t saved, bool hurried, MonoTime now) {
  if (BugIsOn("tries-for-ever")) return false;
  if (saved != saved_) progress_ = now;
  saved_ = saved;
  return hurried || now - progress_ >= kKeepTrying;
}

}  // namespace stoker
