// SPDX-License-Identifier: Apache-2.0
// A store and disks that say no and mean it: not for a request or a minute but for hours, or for
// longer than any world lasts.
#include <algorithm>

#include "ledger/paths.h"
#include "sim/faults/faults.h"
#include "sim/node/host.h"

namespace stoker::sim {
namespace {

// What a service or a file system says when it will not: 403, no such name, 507.
Code CodeOf(const FaultPlan& fault) {
  static constexpr Code kCodes[] = {Code::kDenied, Code::kInvalid, Code::kNoSpace};
  return kCodes[static_cast<size_t>(fault.amount) % 3];
}

void Refuse(World& world, const FaultPlan& fault, const std::string& part, bool writes) {
  ++world.strikes()[fault.kind];
  world.Once(fault.kind);
  world.Tell("fault", fault.kind + " for " + std::to_string(fault.amount) + " ms");
  world.bucket().refusals.push_back({part, writes, CodeOf(fault), world.now() + fault.amount});
}

void RefuseCheckpoints(World& world, const FaultPlan& fault) {
  Refuse(world, fault, "/checkpoints/", true);
}
void RefuseRestores(World& world, const FaultPlan& fault) { Refuse(world, fault, "/data/", false); }
void RefuseLogs(World& world, const FaultPlan& fault) { Refuse(world, fault, "/logs/", true); }

void RefuseCopies(World& world, const FaultPlan& fault) {
  ++world.strikes()[fault.kind];
  world.Once(fault.kind);
  world.Tell("fault", "no disk is copied from for " + std::to_string(fault.amount) + " ms");
  world.no_copies_until = world.now() + fault.amount;
}

// Those of machines that come later too (host.cc).
void RefuseRoom(World& world, const FaultPlan& fault) {
  ++world.strikes()[fault.kind];
  world.Once(fault.kind);
  world.Tell("fault", "every disk is full for " + std::to_string(fault.amount) + " ms");
  const int64_t until = world.now() + fault.amount;
  world.full_disks_until = std::max(world.full_disks_until, until);
  for (const auto& [id, host] : world.hosts()) host->FillDisk(until);
}

}  // namespace

const std::vector<FaultKind>& RefusalKinds() {
  constexpr int64_t kHour = 3'600'000;
  static const std::vector<FaultKind> kinds = {
      {"refuse-checkpoints", "ms", kHour, 200 * kHour, RefuseCheckpoints},
      {"refuse-copies", "ms", kHour, 200 * kHour, RefuseCopies},
      {"refuse-logs", "ms", kHour, 200 * kHour, RefuseLogs},
      {"refuse-restores", "ms", kHour, 200 * kHour, RefuseRestores},
      {"refuse-room", "ms", kHour, 200 * kHour, RefuseRoom},
  };
  return kinds;
}

}  // namespace stoker::sim
