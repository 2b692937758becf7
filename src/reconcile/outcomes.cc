// SPDX-License-Identifier: Apache-2.0
#include "reconcile/outcomes.h"

#include <algorithm>
#include <set>

#include "base/deliberate_bug.h"
#include "base/text.h"
#include "reconcile/reconcile.h"

namespace stoker {
namespace {

constexpr Duration kFirstPause = Duration::Seconds(3);
constexpr Duration kLongestPause = Duration::Minutes(1);
// What dies at its birth leaves a launch in the record each time, so it is asked for more and more
// rarely: after 1, 2, 4 and 8 minutes.
constexpr Duration kWindow = Duration::Hours(1);
constexpr int64_t kMostDoublings = 3;
// Nobody looks after a job that waits for longer than this: a provider that says so is not
// believed.
constexpr Duration kLongestWait = Duration::Hours(24);

bool IsOpen(const Job& job, const Request& request) {
  return std::any_of(job.launches.begin(), job.launches.end(), [&](const Launch& launch) {
    return launch.request == request.number && !launch.closed;
  });
}

bool NothingCame(const Job& job, const Request& request) {
  return std::all_of(job.launches.begin(), job.launches.end(), [&](const Launch& launch) {
    return launch.request != request.number || launch.close_reason == CloseReason::kNeverCame;
  });
}

bool IsUnsettled(const std::optional<Refusal>& refusal) {
  return refusal && refusal->what == RefusalClass::kNotYetConsistent;
}

// Since when the answer to the same has been that it is not known yet: in this request, and in
// those just before it, where their time ran out between looks that were rare. Of any other answer,
// or none, that is no sign.
WallTime FirstTold(const Job& job, const Request& request, WallTime at) {
  WallTime first = IsUnsettled(request.refusal) ? request.refusal->at : at;
  WallTime known = request.opened;  // those that were opened together need one look
  for (auto before = job.requests.rbegin(); before != job.requests.rend(); ++before) {
    if (before->number >= request.number || before->opened >= known) continue;
    const bool same = IsUnsettled(before->refusal) && before->ask == request.ask;
    if (!same || !NothingCame(job, *before)) break;
    known = before->opened;
    first = std::min(first, before->refusal->at);
  }
  return first;
}

// How often, within the hour, the same was refused before.
int64_t TimesBefore(const Job& job, const Request& request, WallTime at) {
  std::set<int64_t> times;
  for (const Request& other : job.requests) {
    if (!other.refusal || other.refusal->at >= at || at - other.refusal->at > kWindow) continue;
    if (other.ask == request.ask) times.insert(other.refusal->at.ms);
  }
  return static_cast<int64_t>(times.size());
}

void JudgeConsistency(const Job& job, const Request& request, Refusal* refusal) {
  if (refusal->what != RefusalClass::kNotYetConsistent) return;
  const Duration told = refusal->at - FirstTold(job, request, refusal->at);
  const bool late = told >= kConsistentWithin && !BugIsOn("inconsistent-for-ever");
  if (!late && !BugIsOn("inconsistent-is-invalid")) {
    // The first time stays: by it the next answer is judged. What was told now is waited for from
    // now on all the same.
    if (!IsUnsettled(request.refusal)) return;
    const Duration since = refusal->at - request.refusal->at;
    if (refusal->wait.ms > 0) refusal->wait = std::min(kLongestWait, refusal->wait + since);
    refusal->at = request.refusal->at;
    return;
  }
  refusal->what = RefusalClass::kInvalid;
  refusal->message = "still not known after " + HumanDuration(told) + ": " + refusal->message;
}

// As it gets into the record.
Refusal Judged(const Job& job, const Request& request, Refusal refusal, WallTime at, bool judge) {
  refusal.at = at;
  refusal.wait = std::clamp(refusal.wait, Duration{}, kLongestWait);
  JudgeConsistency(job, request, &refusal);
  const RefusalClass what = refusal.what;
  refusal.message = CutText(refusal.message, kMostRefusalText);
  refusal.final = what == RefusalClass::kInvalid || what == RefusalClass::kOver ||
                  (what == RefusalClass::kDenied && (judge || BugIsOn("denied-is-final"))) ||
                  (what == RefusalClass::kCapacity && BugIsOn("full-is-refused"));
  return refusal;
}

// Others were given before, to the job or, for what its move asks for, to that: then a denial may
// pass (credentials have expired), or others may do better.
bool SomeCame(const Job& job, const Request& request) {
  const Move* move = MoveUnderWay(job);
  const int from = move != nullptr && request.number >= move->request ? move->request : 0;
  const auto came = [&](const Launch& launch) {
    return launch.request >= from && !launch.instance_id.empty();
  };
  // Its nodes have said so, though nobody has listed them yet (seed 3100009595).
  const auto trained = [&](const Attempt& attempt) {
    const bool begun = attempt.running.has_value() || attempt.state == AttemptState::kDraining;
    return begun && std::all_of(attempt.launches.begin(), attempt.launches.end(), [&](int number) {
             const Launch* const launch = FindLaunch(job, number);
             return launch != nullptr && launch->request >= from;
           });
  };
  return std::any_of(job.launches.begin(), job.launches.end(), came) ||
         std::any_of(job.attempts.begin(), job.attempts.end(), trained);
}

}  // namespace

bool NoteOutcomes(Job& job, const std::vector<SendOutcome>& outcomes, WallTime at, bool judge) {
  bool changed = false;
  for (const SendOutcome& outcome : outcomes) {
    Request* request = FindRequest(job, outcome.request);
    if (request == nullptr || !IsOpen(job, *request)) continue;
    // What another was told for good stands.
    if (request->refusal && request->refusal->final) continue;
    if (!outcome.refusal || BugIsOn("refusal-forgotten")) continue;
    const bool judges = judge && request->tries <= 1 &&
                        (!SomeCame(job, *request) || BugIsOn("denied-is-always-final"));
    request->refusal = Judged(job, *request, *outcome.refusal, at, judges);
    changed = true;
  }
  return changed;
}

bool NoteStarts(Job& job, const std::vector<StartOutcome>& outcomes, WallTime at) {
  bool changed = false;
  for (const StartOutcome& outcome : outcomes) {
    for (Launch& launch : job.launches) {
      const bool its = !launch.closed && launch.instance_id == outcome.instance_id;
      if (!its || !launch.stopped_since || !outcome.refusal) continue;
      launch.start_refusal = outcome.refusal;
      launch.start_refusal->at = at;
      launch.start_refusal->wait = std::clamp(outcome.refusal->wait, Duration{}, kLongestWait);
      launch.start_refusal->message = CutText(outcome.refusal->message, kMostRefusalText);
      changed = true;
    }
  }
  return changed;
}

Refusal LateRefusal(const Job& job, const Request& request, Refusal told, WallTime at) {
  Refusal late = Judged(job, request, std::move(told), at, true);
  const int64_t times = std::min(TimesBefore(job, request, at), kMostDoublings);
  late.wait = std::max(late.wait, kLongestPause * (int64_t{1} << times));
  return late;
}

Duration SendPause(int tries) {
  return std::min(kFirstPause * (int64_t{1} << std::clamp(tries - 1, 0, 10)), kLongestPause);
}

}  // namespace stoker
