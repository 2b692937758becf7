// SPDX-License-Identifier: Apache-2.0

#include <chrono>
#include <thread>

#include "base/json.h"
#include "cli/terminal/context.h"
#include "cli/terminal/interrupts.h"
#include "cli/verb.h"
#include "cli/words/story.h"
#include "client/clear/private_over.h"
#include "client/open/full_store.h"
#include "ledger/index.h"
#include "view/kept_outputs.h"

namespace stoker::cli {
namespace {

struct WaitOptions {
  std::string job = "-";
  std::string timeout;
};

std::string Saving(const PassResult& pass) {
  for (const Attempt& attempt : pass.job.attempts) {
    const auto since = SavingFor(attempt, pass.reports, pass.store_now);
    if (since) return ", " + SavingText(*since);
  }
  return "";
}

Status Run(Context& context, const WaitOptions& options) {
  STOKER_ASSIGN(const std::string job, context.ResolveJob(options.job, NameMeans::kRunning));
  STOKER_ASSIGN(Controller * controller, context.controller());
  STOKER_ASSIGN(ObjectStore * store, context.store());
  std::optional<MonoTime> deadline;
  if (!options.timeout.empty()) {
    auto within = ParseDuration(options.timeout);
    if (!within.ok())
      return Status(Code::kUsage, "--timeout: " + within.status().message(),
                    within.status().next());
    deadline = context.clock().Mono() + *within;
  }
  CatchInterrupts();
  STOKER_ASSIGN(Ledger * ledger, context.ledger());
  STOKER_ASSIGN(const Labels said, SaidOf(*ledger, job));
  std::string shown;
  client::FullStoreTeller full;
  for (;;) {
    auto pass = controller->Pass(job);
    if (!pass.ok() && !pass.status().transient()) return pass.status();
    if (pass.ok() && !said.name.empty()) pass->job.name = said.name;
    if (pass.ok() && IsFinal(pass->job.state)) {
      client::ForgetPrivate(context);
      const StoryInput input{pass->job, nullptr, pass->reports, pass->store_now, {}, {}, said};
      const KeptOutputs kept = ReadKeptOutputs(*store, job);
      nlohmann::json story = StoryJson(input);
      story["kept"] = KeptJson(kept);
      context.Print(context.json ? story.dump() + "\n"
                                 : TellSummary(pass->job, pass->reports, pass->store_now) +
                                       "  kept " + KeptText(kept, job) + "\n");
      context.exit_code = ExitCodeOf(pass->job);
      return Status::Ok();
    }
    full.Tell(context, *store);
    if (pass.ok()) {
      const std::string now = "waiting for " + pass->job.name + " (" + job +
                              "): " + std::string(Name(pass->job.state)) + ", attempt " +
                              std::to_string(AttemptsThatRan(pass->job)) + Saving(*pass);
      if (now != shown) context.Progress(now);
      shown = now;
    }
    if (Interrupted()) {
      context.exit_code = 130;
      return Status(Code::kCancelled, "stopped waiting; the job goes on",
                    "'stoker wait " + job + "' waits again");
    }
    if (deadline && context.clock().Mono() >= *deadline) {
      return Status(Code::kTimeout, "job " + job + " has not ended within " + options.timeout,
                    "It goes on; 'stoker show " + job + "' says what it is doing");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(store->traits().poll.ms));
  }
}

}  // namespace

Verb WaitVerb() {
  auto options = std::make_shared<WaitOptions>();
  Verb verb = VerbOf(options, Run);
  verb.name = "wait";
  verb.summary = "Wait for a job to end";
  verb.description =
      "Waits until a job has ended and moves it along meanwhile. Prints its summary and ends with "
      "its program's exit code, or with 1 when it succeeded but files that it left could not be "
      "kept.";
  verb.exit_codes = {{"CODE", "The program's own exit code, when the job failed with one"},
                     {"128+N", "Signal N ended the program"},
                     {"127", "The program was not found"},
                     {"130", "Ctrl-C: it stopped waiting, the job goes on"}};
  verb.examples = {"stoker wait digits && stoker get digits output ./out",
                   "stoker wait - --timeout 2h"};
  verb.options = {{"JOB", "Which job ('-' = your last)", &options->job, ""},
                  {"--timeout", "Stop waiting after this long; the job goes on", &options->timeout,
                   "DURATION"}};
  return verb;
}

}  // namespace stoker::cli
