// SPDX-License-Identifier: Apache-2.0
// The programs of one attempt, as they know each other through their collective operations.
#pragma once

#include <map>

#include "sim/time/scheduler.h"

namespace stoker::sim {

enum class MemberState { kRunning, kDied, kCompleted };

struct Member {
  int step = 0;  // begun: nobody goes on to the next before all have begun this one
  MemberState state = MemberState::kRunning;
};

struct Gang {
  explicit Gang(Scheduler& scheduler) : changed(scheduler) {}
  std::map<int, Member> members;  // by rank; those that have started
  Signal changed;
  bool AllAt(int step, int nodes) const {
    if (static_cast<int>(members.size()) < nodes) return false;
    for (const auto& [rank, member] : members) {
      if (member.state == MemberState::kRunning && member.step < step) return false;
    }
    return true;
  }
  // A collective operation of `step` can never complete.
  bool BrokenAt(int step) const {
    for (const auto& [rank, member] : members) {
      if (member.state == MemberState::kDied) return true;
      if (member.state == MemberState::kCompleted && member.step < step) return true;
    }
    return false;
  }
};

}  // namespace stoker::sim
