// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include <chrono>
#include <thread>

#include "cli/context.h"
#include "cli/private_env.h"
#include "cli/story.h"
#include "cli/verb.h"
#include "ledger/records.h"

namespace stoker::cli {
namespace {

struct Options {
  std::vector<std::string> jobs;
  bool no_wait = false;
};

// Writes the request, which whoever reconciles carries out; then reconciles until the job ended.
Result<Job> Cancel(Context& context, const std::string& job, bool wait) {
  STOKER_ASSIGN(Ledger * ledger, context.ledger());
  STOKER_ASSIGN(Controller * controller, context.controller());
  STOKER_ASSIGN(const JobRead asked, ReadJob(*ledger, job));
  const WallTime now = asked.store_now;
  STOKER_ASSIGN(JobRead read, MutateJob(*ledger, job, [&](Job& record) -> Result<bool> {
                  if (IsFinal(record.state) || record.cancel) return false;
                  record.cancel = CancelRequest{now, context.user()};
                  return true;
                }));
  if (IsFinal(read.job.state)) return read.job;
  for (;;) {
    const auto pass = controller->Pass(job);
    if (!pass.ok() && !pass.status().transient()) return pass.status();
    if (pass.ok() && (IsFinal(pass->job.state) || !wait)) return pass->job;
    context.Progress("stopping " + job + " …");
    std::this_thread::sleep_for(std::chrono::milliseconds(ledger->store().traits().poll.ms));
  }
}

Status Run(Context& context, const Options& options) {
  nlohmann::json all = nlohmann::json::array();
  for (const std::string& word : options.jobs) {
    STOKER_ASSIGN(const std::string id, context.ResolveJob(word));
    STOKER_ASSIGN(const Job job, Cancel(context, id, !options.no_wait));
    all.push_back({{"id", job.id}, {"name", job.name}, {"state", Name(job.state)}});
    if (!context.json) {
      context.Print(job.name + " (" + job.id + ") " + std::string(Name(job.state)) +
                    (job.cancel ? "" : ": it had ended already") + "\n");
    }
  }
  ForgetPrivate(context);
  if (context.json) context.Print(all.dump() + "\n");
  return Status::Ok();
}

}  // namespace

Verb CancelVerb() {
  auto options = std::make_shared<Options>();
  Verb verb;
  verb.name = "cancel";
  verb.summary = "Stop jobs; their logs and checkpoints are kept";
  verb.description =
      "Stops jobs. The program gets SIGTERM, and SIGKILL once stop_grace has passed; its logs, "
      "checkpoints and outputs are kept. Waits until the jobs have ended.";
  verb.examples = {"stoker cancel digits", "stoker cancel k3f7 9w2m --no-wait"};
  verb.options = {{"JOBS", "The jobs to stop", &options->jobs, "JOB…", true},
                  {"--no-wait", "Return at once", &options->no_wait}};
  verb.run = [options](Context& context) { return Run(context, *options); };
  verb.options_owner = options;
  return verb;
}

}  // namespace stoker::cli
