// SPDX-License-Identifier: Apache-2.0
#include "provider/slurm/tied/allocation_gate.h"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>

#include "provider/slurm/slurm_allocation.h"
#include "provider/slurm/slurm_tools.h"
#include "sys/real_clock.h"
#include "sys/task/process_table.h"

namespace stoker {
namespace {

constexpr Duration kGateAsks = Duration::Seconds(5);
constexpr std::chrono::seconds kStaysNew{1};

class Gate {
 public:
  Result<LocalAllocation> Admit(const LaunchRequest& request) {
    const auto tie = ParseTie(request.ask.options);
    if (!tie) return LocalAllocation();
    LocalAllocation inside = here_;
    const bool is_inside = inside.job == tie->job;
    const auto seen = Ask(tie->job);
    const Status may = MayLaunchTied(*tie, is_inside, seen);
    if (is_inside && seen.ok() && !may.ok()) has_left_ = true;
    STOKER_TRY(may);
    if (!is_inside) return LocalAllocation();
    inside.outlive = tie->outlive;
    return inside;
  }

  bool HasLeft() const { return has_left_; }

  Result<std::string> WentWith(const LocalBoot& boot) {
    const auto seen = Ask(boot.allocation.job);
    // Without Slurm's programs nobody will ever tell, and what it was inside of was killed.
    if (seen.status().Is(Code::kDenied)) {
      return "Slurm's job " + std::to_string(boot.allocation.job);
    }
    if (!seen.ok()) return seen.status();
    return seen->state == AllocationState::kRuns ? std::string() : seen->why;
  }

 private:
  // Of an agent: what its machine was begun inside of, since it descends from nobody any more.
  static LocalAllocation Here() {
    if (const auto inside = SlurmInsideHere()) {
      return {inside->job, inside->stepd, inside->stepd_began, false};
    }
    const char* instance = std::getenv(kInstanceMark);
    const auto boot = instance != nullptr ? ReadLocalBoot(instance)
                                          : Result<LocalBoot>(Status(Code::kNotFound, "no agent"));
    return boot.ok() ? boot->allocation : LocalAllocation();
  }

  Result<AllocationSeen> Ask(int64_t job) {
    const std::lock_guard lock(mutex_);
    const auto now = std::chrono::steady_clock::now();
    const auto known = known_.find(job);
    if (known != known_.end() && now - known->second.at < kStaysNew) return known->second.seen;
    auto seen = AskAllocation(tools_, job, clock_.Wall(), kGateAsks);
    known_.insert_or_assign(job, Known{std::chrono::steady_clock::now(), seen});
    return seen;
  }

  struct Known {
    std::chrono::steady_clock::time_point at;
    Result<AllocationSeen> seen;
  };
  RealClock clock_;
  // As it was at first: who is inside when its shell dies descends from nobody then, and is still.
  const LocalAllocation here_ = Here();
  std::atomic<bool> has_left_{false};
  std::mutex mutex_;
  SlurmTools tools_{""};
  std::map<int64_t, Known> known_;
};

}  // namespace

AllocationGate MakeAllocationGate() {
  const auto gate = std::make_shared<Gate>();
  return {[gate](const LaunchRequest& request) { return gate->Admit(request); },
          [gate] { return gate->HasLeft(); },
          [gate](const LocalBoot& boot) { return gate->WentWith(boot); }};
}

}  // namespace stoker
