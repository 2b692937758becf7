// SPDX-License-Identifier: Apache-2.0
#include "port/holding.h"

namespace stoker {

bool IsExpired(const Holding& holding, WallTime now) {
  if (holding.expires.ms == 0 || holding.expires >= now) return false;
  switch (holding.kind) {
    case HoldingKind::kMachine:
      return !holding.token.empty();
    case HoldingKind::kDisk:
      return !holding.in_use;
    case HoldingKind::kRule:
      return true;
    case HoldingKind::kSecret:  // its job is asked, which may still run
    case HoldingKind::kGroup:
    case HoldingKind::kPlacement:
      break;
  }
  return false;
}

}  // namespace stoker
