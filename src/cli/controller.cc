// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include <chrono>
#include <thread>

#include "base/text.h"
#include "cli/attach.h"
#include "cli/context.h"
#include "cli/timer.h"
#include "cli/verb.h"
#include "controller/all_jobs.h"

namespace stoker::cli {
namespace {

struct Options {
  bool once = false;
  bool install = false;
  bool uninstall = false;
  bool verbose = false;
  std::string interval = "15s";
};

void TellNotes(Context& context, const Options& options, const std::string& id,
               const Result<PassResult>& pass) {
  if (!pass.ok()) {
    context.Say(id + ": " + pass.status().ToString());
    return;
  }
  if (pass->changed || options.verbose) {
    for (const std::string& note : pass->notes) context.Say(id + ": " + Printable(note));
  }
  if (pass->trouble) context.Say(id + ": " + pass->trouble->ToString());
}

Status Loop(Context& context, const Options& options, Duration interval) {
  STOKER_ASSIGN(Ledger * ledger, context.ledger());
  STOKER_ASSIGN(Controller * controller, context.controller());
  CatchInterrupts();
  for (;;) {
    const auto result = PassAll(*ledger, *controller, [&](const auto& id, const auto& pass) {
      TellNotes(context, options, id, pass);
    });
    if (options.once) {
      if (!result.ok()) return result.status();
      if (context.json) {
        context.Print(nlohmann::json({{"active", result->active},
                                      {"passed", result->passed},
                                      {"failed", result->failed}})
                          .dump() +
                      "\n");
      }
      return result->first_failure;
    }
    if (!result.ok()) context.Say(result.status().ToString());
    const MonoTime next = context.clock().Mono() + interval;
    while (context.clock().Mono() < next) {
      if (Interrupted()) return Status::Ok();
      std::this_thread::sleep_for(std::chrono::milliseconds(std::min<int64_t>(interval.ms, 100)));
    }
  }
}

Status Run(Context& context, const Options& options) {
  if (options.install && options.uninstall) {
    return Status(Code::kUsage, "--install and --uninstall exclude each other");
  }
  if (options.install) return InstallTimer(context);
  if (options.uninstall) return UninstallTimer(context);
  const auto interval = ParseDuration(options.interval);
  if (!interval.ok() || interval->ms < 50) {
    return Status(Code::kUsage, "--interval '" + Printable(options.interval) +
                                    "' is no duration of 50ms or more");
  }
  return Loop(context, options, *interval);
}

}  // namespace

Verb ControllerVerb() {
  auto options = std::make_shared<Options>();
  Verb verb;
  verb.name = "controller";
  verb.summary = "Look after all jobs: now and then, or by a timer";
  verb.description =
      "Runs the same reconcile pass as every other verb, over all active jobs: as a loop, once "
      "(--once), or from a timer of yours (--install) that closes the gap when a machine dies "
      "without notice and nobody looks.";
  verb.examples = {"stoker controller --install", "stoker controller --once",
                   "stoker controller --interval 5s"};
  verb.options = {{"--once", "One pass over all jobs, then end", &options->once},
                  {"--install", "Have a timer of this user run it every minute", &options->install},
                  {"--uninstall", "Take the timer away again", &options->uninstall},
                  {"--interval", "Time between passes", &options->interval, "DURATION"},
                  {"-v,--verbose", "Say more", &options->verbose}};
  verb.run = [options](Context& context) { return Run(context, *options); };
  verb.options_owner = options;
  return verb;
}

}  // namespace stoker::cli
