// SPDX-License-Identifier: Apache-2.0
#include "policy/events.h"

#include <algorithm>

#include "base/text.h"

namespace stoker {
namespace {

std::string Title(const Job& job) { return job.name + " (" + job.id + ")"; }

std::string Why(const Ending& ending) {
  std::string text(Name(ending.reason));
  if (ending.reason == EndReason::kUserError && ending.signal == 0) {
    text += ", exit code " + std::to_string(ending.exit_code);
  } else if (ending.signal != 0) {
    text += ", signal " + std::to_string(ending.signal);
  }
  return text + (ending.why.empty() ? "" : ": " + Printable(ending.why));
}

// The newest that was heard of its requests; "" = none.
std::string LastRefusal(const Job& job) {
  const Refusal* newest = nullptr;
  for (const Request& request : job.requests) {
    if (request.refusal && (newest == nullptr || request.refusal->at >= newest->at))
      newest = &*request.refusal;
  }
  return newest == nullptr ? "" : Printable(newest->message);
}

JobEvent EndOf(const Job& job) {
  JobEvent event{{"end"}, "end", job.ended.value_or(WallTime{}), 0, "", "stoker show " + job.id};
  if (job.state == JobState::kFailed) event.is.push_back("failure");
  const bool rule = job.result && job.result->reason == EndReason::kStoppedByRule;
  if (rule) event.is.push_back("rule");
  if (!job.attempts.empty()) event.attempt = job.attempts.back().number;
  event.text = Title(job) + " " + std::string(Name(job.state)) + " after " +
               HumanDuration(event.at - job.created);
  if (job.state != JobState::kSucceeded && job.result) event.text += ": " + Why(*job.result);
  if (job.state == JobState::kFailed) event.next = "stoker logs " + job.id;
  return event;
}

// Its machine, or one of them, is taken or gone.
bool Interrupted(const Attempt& attempt) {
  if (attempt.state == AttemptState::kDraining) return attempt.noticed;
  if (attempt.state != AttemptState::kEnded || !attempt.ending || attempt.not_needed) return false;
  const EndReason reason = attempt.ending->reason;
  return reason == EndReason::kInterrupted || reason == EndReason::kNodeLost;
}

bool Failed(const Attempt& attempt) {
  if (attempt.state != AttemptState::kEnded || !attempt.ending || attempt.not_needed) return false;
  switch (attempt.ending->reason) {
    case EndReason::kUserError:
    case EndReason::kNodeFault:
    case EndReason::kInternal:
      return true;
    default:
      return false;
  }
}

JobEvent OfAttempt(const Job& job, const Attempt& attempt, const std::string& is, WallTime now) {
  const std::string number = std::to_string(attempt.number);
  JobEvent event{{is}, is + "-" + number,      attempt.ended.value_or(now), attempt.number,
                 "",   "stoker show " + job.id};
  event.text =
      Title(job) + ": attempt " + number + (is == "failure" ? " failed" : " is interrupted");
  if (attempt.ending) {
    event.text += ": " + Why(*attempt.ending);
  } else {
    event.text += ": its machine is taken";
  }
  if (!job.cancel) event.text += is == "failure" ? "; it is tried again" : "; it goes on elsewhere";
  return event;
}

// A machine that is awaited by the newest attempt was never seen.
bool LacksMachine(const Job& job, const Attempt& attempt) {
  return std::any_of(attempt.launches.begin(), attempt.launches.end(), [&](int number) {
    const Launch* launch = FindLaunch(job, number);
    return launch != nullptr && launch->instance_id.empty();
  });
}

}  // namespace

std::vector<JobEvent> EventsOf(const Job& job, Duration no_machine,
                               const std::vector<std::string>& warnings, WallTime now) {
  std::vector<JobEvent> events;
  for (size_t n = 0; n < warnings.size(); ++n) {
    events.push_back({{"rule"},
                      "rule-" + std::to_string(n + 1),
                      job.ended.value_or(now),
                      0,
                      Title(job) + ": a rule that only warns: " + Printable(warnings[n]),
                      "stoker metrics " + job.id});
  }
  const bool over = IsFinal(job.state);
  for (const Attempt& attempt : job.attempts) {
    const bool last = &attempt == &job.attempts.back();
    if (over && last) break;  // the job's own end says it
    if (Failed(attempt)) events.push_back(OfAttempt(job, attempt, "failure", now));
    if (Interrupted(attempt)) events.push_back(OfAttempt(job, attempt, "interruption", now));
  }
  if (over) {
    events.push_back(EndOf(job));
    return events;
  }
  const Attempt* newest = NewestNeeded(job);
  if (newest == nullptr || newest->state != AttemptState::kProvisioning) return events;
  if (now - newest->opened < no_machine || !LacksMachine(job, *newest)) return events;
  const std::string number = std::to_string(newest->number);
  JobEvent event{{"no_machine"},
                 "no_machine-" + number,
                 newest->opened + no_machine,
                 newest->number,
                 "",
                 "stoker show " + job.id};
  const std::string refusal = LastRefusal(job);
  event.text = Title(job) + " has waited for a machine for " + HumanDuration(now - newest->opened) +
               (refusal.empty() ? "" : "; its place said last: " + refusal);
  events.push_back(std::move(event));
  return events;
}

bool Wants(const NotifySpec& to, const JobEvent& event) {
  return std::any_of(event.is.begin(), event.is.end(), [&](const std::string& is) {
    return std::find(to.on.begin(), to.on.end(), is) != to.on.end();
  });
}

}  // namespace stoker
