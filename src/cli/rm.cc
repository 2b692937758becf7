// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <set>

#include "base/json.h"
#include "base/text.h"
#include "cli/terminal/context.h"
#include "cli/terminal/local_time.h"
#include "cli/verb.h"
#include "client/clear/removals.h"
#include "client/clear/rm.h"

namespace stoker::cli {
namespace {

struct RmOptions {
  std::vector<std::string> jobs;
  bool now = false;
  bool yes = false;
};

Status Ask(Context& context, const RmOptions& options, const std::set<std::string>& ids) {
  if (!options.now || options.yes) return Status::Ok();
  const std::string what = Join({ids.begin(), ids.end()}, ", ");
  if (context.Confirm("This removes " + what +
                      " at once, with logs, checkpoints and outputs. "
                      "Go on?")) {
    return Status::Ok();
  }
  return Status(Code::kUsage, "--now would remove " + what + ": nothing was done",
                "If you mean it, add --yes; without --now it goes in an hour");
}

void Print(Context& context, const client::RemovedJobs& done, const client::Refused& refused) {
  if (context.json) {
    nlohmann::json kept = nlohmann::json::object();
    for (const auto& [id, why] : refused) kept[id] = why.ToString();
    for (const auto& [id, by] : done.removed.needed) kept[id] = "job " + by + " goes on from it";
    nlohmann::json goes = nlohmann::json::object();
    for (const auto& [id, when] : done.goes) goes[id] = FormatRfc3339(when);
    context.Print(nlohmann::json{{"removed", done.removed.jobs},
                                 {"bytes", done.removed.job_bytes},
                                 {"goes", goes},
                                 {"kept", kept}}
                      .dump() +
                  "\n");
    return;
  }
  for (const std::string& id : done.removed.jobs) context.Print(id + " removed\n");
  for (const auto& [id, when] : done.goes) {
    context.Print(id + " goes after " + LocalTime(when) + "\n");
  }
  if (!done.goes.empty()) {
    context.Say(
        "the next 'stoker gc' or 'stoker controller' from then on removes it; until then "
        "'stoker retry' or 'stoker run --from' keeps a job");
  }
  client::TellStayed(context, done.removed);
}

Status Run(Context& context, const RmOptions& options) {
  if (options.jobs.empty()) {
    return Status(Code::kUsage, "no job was given", "stoker rm JOB…");
  }
  STOKER_ASSIGN(client::Removable jobs, client::FindRemovable(context, options.jobs));
  const client::Refused& refused = jobs.refused;
  // With --json, what is printed at the end has them.
  for (const auto& [id, why] : refused) {
    if (!context.json) context.PrintError(why);
  }
  if (!jobs.ids.empty()) STOKER_TRY(Ask(context, options, jobs.ids));
  STOKER_ASSIGN(const client::RemovedJobs done, client::RemoveJobs(context, options.now, &jobs));
  Print(context, done, refused);
  if (!refused.empty() || !done.removed.needed.empty() || !done.removed.index.ok()) {
    context.exit_code = 1;
  }
  return Status::Ok();
}

}  // namespace

Verb RmVerb() {
  auto options = std::make_shared<RmOptions>();
  Verb verb = VerbOf(options, Run);
  verb.name = "rm";
  verb.summary = "Remove ended jobs with all that they left";
  verb.description =
      "Removes jobs that have ended, with their logs, checkpoints, outputs and metrics: an hour "
      "after it has written down which, the next 'stoker gc' or 'stoker controller' does. Until "
      "then they are there as before, 'stoker ls' says that they go, and 'stoker retry' or 'stoker "
      "run --from' keeps one. With --now they go at once, also on a full disk; it asks, and needs "
      "--yes where there is no terminal. A job that has not ended stays, and so does one that "
      "another job may still begin from; which, and why, is said, and the others go.";
  verb.examples = {"stoker rm digits", "stoker rm k3f7 9w2m", "stoker rm --now --yes k3f7"};
  verb.options = {{"JOBS", "The jobs to remove", &options->jobs, "JOB…"},
                  {"--now", "At once, and not in an hour", &options->now},
                  {"-y,--yes", "With --now: do not ask", &options->yes}};
  return verb;
}

}  // namespace stoker::cli
