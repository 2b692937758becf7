// SPDX-License-Identifier: Apache-2.0
#include "client/submit/begin.h"

#include <utility>

#include "client/submit/late_answers.h"

namespace stoker::client {
namespace {

constexpr int kEndWithin = 6;  // passes from a refusal to the job's end

// Something is left to do at once: to end a job whose request was refused for good, or that was
// cancelled meanwhile; to begin one where somebody else wrote into its record at the same time.
bool IsUnsettled(const PassResult& seen) {
  return seen.trouble || seen.job.attempts.empty() || seen.job.cancel;
}

}  // namespace

Result<PassResult> BeginJob(Controller& controller, const std::string& job) {
  auto pass = controller.Pass(job);
  for (int i = 0; i < kEndWithin && pass.ok() && IsUnsettled(*pass); ++i) {
    if (IsFinal(pass->job.state)) break;
    auto next = controller.Pass(job);
    if (!next.ok() || (!next->changed && !next->job.attempts.empty())) break;
    if (!next->trouble) next->trouble = pass->trouble;
    pass = std::move(next);
  }
  return pass;
}

void HearOut(Client& client, Controller& controller, Result<PassResult> first) {
  const auto heard =
      first.ok() ? AwaitLateAnswers(client, controller, std::move(*first)) : std::move(first);
  const Status trouble = !heard.ok() ? heard.status() : heard->trouble.value_or(Status::Ok());
  if (!trouble.ok()) client.Say("no machine yet: " + trouble.ToString());
}

}  // namespace stoker::client
