// SPDX-License-Identifier: Apache-2.0
#include "reconcile/outcomes.h"

#include <algorithm>

#include "base/deliberate_bug.h"
#include "base/text.h"

namespace stoker {
namespace {

constexpr Duration kFirstPause = Duration::Seconds(3);
constexpr Duration kLongestPause = Duration::Minutes(1);
// Providers' messages are a line or two; what is longer says no more.
constexpr size_t kMostMessage = 300;

std::optional<RefusalClass> ClassOf(Code code) {
  switch (code) {
    case Code::kNoSpace:
      return RefusalClass::kCapacity;
    case Code::kBusy:
      return RefusalClass::kThrottled;
    case Code::kDenied:
      return RefusalClass::kDenied;
    case Code::kInvalid:
    case Code::kUsage:
      return RefusalClass::kInvalid;
    case Code::kNotFound:
      return RefusalClass::kOver;
    default:
      return std::nullopt;
  }
}

RefusalScope ScopeOf(RefusalClass what) {
  switch (what) {
    case RefusalClass::kCapacity:
      return RefusalScope::kZone;
    case RefusalClass::kQuota:
      return RefusalScope::kRegion;
    case RefusalClass::kThrottled:
    case RefusalClass::kDenied:
    case RefusalClass::kUnanswered:
      return RefusalScope::kAccount;
    case RefusalClass::kInvalid:
    case RefusalClass::kOver:
      return RefusalScope::kRequest;
  }
  return RefusalScope::kRequest;
}

bool IsOpen(const Job& job, const Request& request) {
  return std::any_of(job.launches.begin(), job.launches.end(), [&](const Launch& launch) {
    return launch.request == request.number && !launch.closed;
  });
}

}  // namespace

std::optional<Refusal> RefusalOf(const Status& status, WallTime at, bool judge) {
  const auto what = status.ok() ? std::nullopt : ClassOf(status.code());
  if (!what) return std::nullopt;
  Refusal refusal;
  refusal.what = *what;
  refusal.scope = ScopeOf(*what);
  refusal.at = at;
  refusal.message = CutText(status.ToString(), kMostMessage);
  refusal.final = *what == RefusalClass::kInvalid || *what == RefusalClass::kOver ||
                  (*what == RefusalClass::kDenied && (judge || BugIsOn("denied-is-final"))) ||
                  (*what == RefusalClass::kCapacity && BugIsOn("full-is-refused"));
  return refusal;
}

bool NoteOutcomes(Job& job, const std::vector<SendOutcome>& outcomes, WallTime at, bool judge) {
  bool changed = false;
  for (const SendOutcome& outcome : outcomes) {
    Request* request = FindRequest(job, outcome.request);
    if (request == nullptr || !IsOpen(job, *request)) continue;
    // What another was told for good stands.
    if (request->refusal && request->refusal->final) continue;
    auto refusal = RefusalOf(outcome.status, at, judge && request->tries <= 1);
    if (!refusal || BugIsOn("refusal-forgotten")) continue;
    request->refusal = std::move(refusal);
    changed = true;
  }
  return changed;
}

Duration SendPause(int tries) {
  return std::min(kFirstPause * (int64_t{1} << std::clamp(tries - 1, 0, 10)), kLongestPause);
}

}  // namespace stoker
