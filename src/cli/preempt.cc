// SPDX-License-Identifier: Apache-2.0

#include "client/preempt.h"
#include "base/json.h"
#include "cli/terminal/context.h"
#include "cli/verb.h"

namespace stoker::cli {
namespace {

struct PreemptOptions {
  std::string job = "-";
  int node = -1;
  std::string in = "30s";
};

Status Run(Context& context, const PreemptOptions& options) {
  client::PreemptWish wish;
  STOKER_ASSIGN(wish.job, context.ResolveJob(options.job, NameMeans::kRunning));
  const auto lead = ParseDuration(options.in);
  if (!lead.ok())
    return Status(Code::kUsage, "--in: " + lead.status().message(), lead.status().next());
  wish.node = options.node;
  wish.lead = *lead;
  STOKER_ASSIGN(const auto told, client::Preempt(context, wish));
  if (!context.json) return Status::Ok();
  nlohmann::json all = nlohmann::json::array();
  for (const client::Preempted& one : told) {
    all.push_back({{"node", one.node}, {"instance", one.instance}, {"lead_ms", lead->ms}});
  }
  context.Print(all.dump() + "\n");
  return Status::Ok();
}

}  // namespace

Verb PreemptVerb() {
  auto options = std::make_shared<PreemptOptions>();
  Verb verb = VerbOf(options, Run);
  verb.name = "preempt";
  verb.summary = "Fire drill: give a job a real interruption notice";
  verb.description =
      "Gives a job's machines a real interruption notice, as a spot market would, and takes them "
      "away when it runs out. The job saves a checkpoint, moves to new machines and goes on. "
      "'checkpoints.signal' comes at once. A program that handles SIGTERM gets it when there is "
      "time "
      "for a save and its upload, at most half of the notice; any other when a quarter of the "
      "notice "
      "is left, at most 25s. The job's log tells both times.";
  verb.examples = {"stoker preempt digits", "stoker preempt - --node 1 --in 2m"};
  verb.options = {{"JOB", "Which job ('-' = your last)", &options->job, ""},
                  {"--node", "Only this node", &options->node, "RANK"},
                  {"--in", "How long the notice lasts, 7d at most", &options->in, "DURATION"}};
  return verb;
}

}  // namespace stoker::cli
