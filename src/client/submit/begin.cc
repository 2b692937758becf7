// SPDX-License-Identifier: Apache-2.0
#include "client/submit/begin.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "client/submit/late_answers.h"
#include "spec/text/infra.h"

namespace stoker::client {
namespace {

constexpr int kEndWithin = 6;  // passes from a refusal to the job's end

// Something is left to do at once: to end a job whose request was refused for good, or that was
// cancelled meanwhile; to begin one where somebody else wrote into its record at the same time.
bool IsUnsettled(const PassResult& seen) {
  return seen.trouble || seen.job.attempts.empty() || seen.job.cancel;
}

// Whatever an earlier place said, another one has taken what is open of the job.
bool IsAllTaken(const Job& job) {
  for (const Launch& launch : job.launches) {
    const Request& request = RequestOf(job, launch);
    if (!launch.closed && (request.tries == 0 || request.refusal)) return false;
  }
  return !job.launches.empty();
}

// What places said before another one took it, in their own words.
void SayRefusals(Client& client, const Job& job) {
  for (const Request& request : job.requests) {
    if (!request.refusal || request.refusal->message.empty()) continue;
    const Place& at = request.ask.place;
    client.Say(Printable(InfraWordOf(at.provider) + (at.zone.empty() ? "" : "/" + at.zone)) + ": " +
               Printable(request.refusal->message));
  }
}

// Further passes, until a job whose last request was refused late and for good has ended.
Result<PassResult> EndRefused(Controller& controller, Result<PassResult> pass) {
  const auto open = [](const Launch& launch) { return !launch.closed; };
  for (int i = 0; i < kEndWithin && pass.ok() && !IsFinal(pass->job.state); ++i) {
    const auto& launches = pass->job.launches;
    if (launches.empty() || std::any_of(launches.begin(), launches.end(), open)) break;
    auto next = controller.Pass(pass->job.id);
    if (!next.ok()) break;
    pass = std::move(next);
  }
  return pass;
}

}  // namespace

Result<PassResult> BeginJob(Controller& controller, const std::string& job) {
  auto pass = controller.Pass(job);
  for (int i = 0; i < kEndWithin && pass.ok() && IsUnsettled(*pass); ++i) {
    if (IsFinal(pass->job.state)) break;
    auto next = controller.Pass(job);
    if (!next.ok() || (!next->changed && !next->job.attempts.empty())) break;
    if (!next->trouble && !IsAllTaken(next->job)) next->trouble = pass->trouble;
    pass = std::move(next);
  }
  return pass;
}

std::optional<Job> HearOut(Client& client, Controller& controller, Result<PassResult> first) {
  if (first.ok()) first = AwaitLateAnswers(client, controller, std::move(*first));
  first = EndRefused(controller, std::move(first));
  if (first.ok() && first->job.result && first->job.result->reason == EndReason::kLaunchRefused) {
    return std::move(first->job);
  }
  const Status trouble = !first.ok() ? first.status() : first->trouble.value_or(Status::Ok());
  if (!trouble.ok()) {
    client.Say("no machine yet: " + trouble.ToString());
  } else {
    SayRefusals(client, first->job);
  }
  return std::nullopt;
}

}  // namespace stoker::client
