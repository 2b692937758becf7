// SPDX-License-Identifier: Apache-2.0
// What a drought leaves in the record: thousands of requests whose machines never came, and the
// attempts that waited for them. They are counted instead of kept, so that the record stays one
// that can be read, however long it lasts.
#include <algorithm>
#include <set>

#include "reconcile/pass.h"

namespace stoker::reconcile_internal {
namespace {

// Nothing is folded of a job with fewer: what happened to it can be seen whole.
constexpr size_t kKeepLaunches = 200;
constexpr size_t kKeepGenerations = 3;
// No machine turns up, and no report, so long after its launch was closed.
constexpr Duration kFoldAfter = Duration::Minutes(20);

bool LongAgo(const Pass& pass, const std::optional<WallTime>& time) {
  return time && pass.seen.now - *time > kFoldAfter;
}

// Nobody has ever seen anything of it, but that it died before it was up, or could not begin.
bool LeftNothing(const Pass& pass, const Launch& launch) {
  const MachineSeen* machine = pass.Machine(launch.number);
  const bool never = launch.close_reason == CloseReason::kNeverCame ||
                     launch.close_reason == CloseReason::kSuperseded || launch.boot_outage;
  return launch.closed && never && LongAgo(pass, launch.closed_at) && pass.Place(launch).known &&
         (machine == nullptr || machine->freed) && pass.NewestReport(launch.number) == nullptr;
}

// It never ran, and says nothing about machines or program: see Neutral in policy/retry.cc.
bool NeverBegan(const Pass& pass, const Attempt& attempt) {
  if (attempt.state != AttemptState::kEnded || attempt.running || attempt.run_ms > 0 ||
      !attempt.newest_checkpoint.empty() || !attempt.as_left.empty() ||
      !LongAgo(pass, attempt.ended)) {
    return false;
  }
  const auto& launches = attempt.launches;
  return std::any_of(launches.begin(), launches.end(), [&](int number) {
    const Launch* launch = FindLaunch(pass.out.job, number);
    return launch != nullptr && LeftNothing(pass, *launch);
  });
}

// By so many its pause has become the longest (LossDelay in policy/retry.cc).
constexpr int kKeepOutages = 16;
bool MetOutage(const Job& job, const Attempt& attempt) {
  return std::any_of(attempt.launches.begin(), attempt.launches.end(), [&](int number) {
    const Launch* launch = FindLaunch(job, number);
    return launch != nullptr && launch->boot_outage;
  });
}

void Count(Folded& folded, WallTime from, WallTime to) {
  if (folded.launches + folded.attempts == 0) folded.since = from;
  folded.since = std::min(folded.since, from);
  folded.until = std::max(folded.until, to);
}

// Those with a launch that says something, or that an attempt still names: they stay whole.
std::set<int> RequestsToKeep(const Pass& pass, int newest_launch) {
  const Job& job = pass.out.job;
  std::set<int> used;
  for (const Attempt& attempt : job.attempts) {
    used.insert(attempt.launches.begin(), attempt.launches.end());
  }
  std::set<int> kept;
  for (const Launch& launch : job.launches) {
    if (launch.number == newest_launch || used.contains(launch.number) ||
        !LeftNothing(pass, launch)) {
      kept.insert(launch.request);
    }
  }
  return kept;
}

}  // namespace

void FoldOld(Pass& pass) {
  Job& job = pass.job();
  const size_t keep =
      std::max(kKeepLaunches, kKeepGenerations * static_cast<size_t>(job.num_nodes));
  if (job.launches.size() <= keep) return;
  Folded folded = job.folded.value_or(Folded{});
  // The newest of each stay: the next numbers are theirs plus one.
  const int newest_attempt = job.attempts.empty() ? 0 : job.attempts.back().number;
  const int newest_launch = job.launches.back().number;
  std::erase_if(job.attempts, [&](const Attempt& attempt) {
    if (attempt.number == newest_attempt || !NeverBegan(pass, attempt)) return false;
    if (newest_attempt - attempt.number < kKeepOutages && MetOutage(job, attempt)) return false;
    Count(folded, attempt.opened, *attempt.ended);
    ++folded.attempts;
    return true;
  });
  const std::set<int> kept = RequestsToKeep(pass, newest_launch);
  std::erase_if(job.launches, [&](const Launch& launch) {
    if (kept.contains(launch.request)) return false;
    Count(folded, pass.RequestOf(launch).opened, *launch.closed_at);
    ++folded.launches;
    return true;
  });
  folded.requests += static_cast<int>(std::erase_if(
      job.requests, [&](const Request& request) { return !kept.contains(request.number); }));
  const Folded before = job.folded.value_or(Folded{});
  if (folded.launches == before.launches && folded.attempts == before.attempts) return;
  pass.Changed(std::to_string(folded.requests - before.requests) +
               " requests whose machines never came are only counted from now on");
  job.folded = folded;
}

}  // namespace stoker::reconcile_internal
