// SPDX-License-Identifier: Apache-2.0
#include "provider/slurm/tied/allocation_watch.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace stoker {
namespace {

constexpr std::chrono::milliseconds kStepEvery{250};
constexpr Duration kAskEvery = Duration::Seconds(15);
constexpr Duration kAskWhenTold = Duration::Seconds(1);
constexpr Duration kAskLimit = Duration::Seconds(5);  // it is waited for where the node leaves
constexpr Duration kAwaitMost = Duration::Seconds(2);
// Whose step has ended, and whom Slurm does not tell more for so long, is a guest here.
constexpr Duration kGuestMost = Duration::Seconds(30);
constexpr Duration kKillWait = Duration::Seconds(30);  // until Slurm has told
constexpr Duration kAir = Duration::Seconds(1);

}  // namespace

AllocationWatch::AllocationWatch(LocalAllocation allocation, Clock& clock, Ends ends)
    : allocation_(allocation),
      held_(IsHeldBySlurm(allocation.job)),
      clock_(clock),
      ends_(std::move(ends)),
      tools_(""),
      leaves_ms_((kKillWait - kAir).ms),
      thread_([this] { Run(); }) {}

AllocationWatch::~AllocationWatch() {
  stop_ = true;
  Ring();
  thread_.join();
}

bool AllocationWatch::Signalled() {
  const int before = answers_;
  signalled_ = true;
  Ring();
  const MonoTime until = clock_.Mono() + kAwaitMost;
  while (!ends_seen_ && answers_ == before && clock_.Mono() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return ends_seen_;
}

void AllocationWatch::Ring() {
  {
    const std::lock_guard lock(mutex_);
    rung_ = true;
  }
  rang_.notify_one();
}

bool AllocationWatch::Wait() {
  std::unique_lock lock(mutex_);
  rang_.wait_for(lock, kStepEvery, [this] { return rung_; });
  return std::exchange(rung_, false);
}

void AllocationWatch::Run() {
  leaves_ms_ = std::max(tools_.KillWait(kAskLimit) - kAir, kAir).ms;
  std::optional<MonoTime> asked;
  std::optional<MonoTime> step_ended;
  WallTime near;
  while (!stop_) {
    const bool rung = Wait();
    if (stop_) return;
    const MonoTime now = clock_.Mono();
    if (!step_ended && allocation_.stepd != 0 &&
        !StepLives(allocation_.stepd, allocation_.stepd_began)) {
      step_ended = now;
      asked.reset();
    }
    const Duration every = step_ended || signalled_ ? kAskWhenTold : kAskEvery;
    const bool due = near.ms > 0 && clock_.Wall() >= near;
    if (!rung && !due && asked && now - *asked < every) continue;
    asked = now;
    const auto seen = AskAllocation(tools_, allocation_.job, clock_.Wall(), kAskLimit);
    near = seen.ok() ? seen->near : WallTime{};
    const bool runs = seen.ok() && seen->state == AllocationState::kRuns;
    // A step of several may end while the allocation goes on.
    if (runs && step_ended) step_ended = now;
    const bool guest = !seen.ok() && step_ended &&
                       (now - *step_ended >= kGuestMost || seen.status().Is(Code::kDenied));
    if (runs || (!seen.ok() && !guest)) {
      if (seen.ok()) ++answers_;
      continue;
    }
    Duration left = Leaves();
    if (seen.ok() && seen->until.ms > 0) left = std::max(seen->until - clock_.Wall(), kAir);
    ends_seen_ = true;
    ends_(guest ? "Slurm's job " + std::to_string(allocation_.job) + ": its step has ended"
                : seen->why,
          left);
    return;
  }
}

}  // namespace stoker
