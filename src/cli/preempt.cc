// SPDX-License-Identifier: Apache-2.0

#include "base/json.h"
#include "cli/terminal/context.h"
#include "cli/verb.h"
#include "ledger/records.h"

namespace stoker::cli {
namespace {

struct PreemptOptions {
  std::string job = "-";
  int node = -1;
  std::string in = "30s";
};

// The newest attempt that has begun: its machines are the ones that train.
const Attempt* Current(const Job& job) {
  const Attempt* current = nullptr;
  for (const Attempt& attempt : job.attempts) {
    if (attempt.state != AttemptState::kEnded && attempt.state != AttemptState::kProvisioning) {
      current = &attempt;
    }
  }
  return current;
}

Status Run(Context& context, const PreemptOptions& options) {
  STOKER_ASSIGN(const std::string id, context.ResolveJob(options.job, NameMeans::kRunning));
  auto lead = ParseDuration(options.in);
  if (!lead.ok())
    return Status(Code::kUsage, "--in: " + lead.status().message(), lead.status().next());
  STOKER_ASSIGN(Controller * controller, context.controller());
  STOKER_ASSIGN(const PassResult pass, controller->Pass(id));
  const Attempt* attempt = Current(pass.job);
  const Status idle(
      Code::kInvalid,
      "job " + id + " has no machine to take: it is " + std::string(Name(pass.job.state)),
      "'stoker show " + id + "' says what it does");
  if (attempt == nullptr) return idle;
  if (options.node >= static_cast<int>(attempt->launches.size())) {
    return Status(Code::kUsage, "--node " + std::to_string(options.node) +
                                    ": the job has nodes 0 to " +
                                    std::to_string(attempt->launches.size() - 1));
  }
  nlohmann::json told = nlohmann::json::array();
  for (int rank = 0; rank < static_cast<int>(attempt->launches.size()); ++rank) {
    if (options.node >= 0 && rank != options.node) continue;
    const int launch = attempt->launches[static_cast<size_t>(rank)];
    for (const MachineSeen& machine : pass.machines) {
      const bool up =
          machine.state == MachineState::kStarting || machine.state == MachineState::kRunning;
      if (machine.launch != launch || !up) continue;
      const Request& request = RequestOf(pass.job, *FindLaunch(pass.job, launch));
      STOKER_ASSIGN(Provider * provider, context.provider(request.ask.place.provider));
      STOKER_TRY(provider->Interrupt(machine.instance_id, *lead));
      told.push_back({{"node", rank}, {"instance", machine.instance_id}, {"lead_ms", lead->ms}});
      context.Say("node " + std::to_string(rank) + " has its notice: it will be taken in " +
                  FormatDuration(*lead));
    }
  }
  if (told.empty()) return idle;
  if (context.json) context.Print(told.dump() + "\n");
  return Status::Ok();
}

}  // namespace

Verb PreemptVerb() {
  auto options = std::make_shared<PreemptOptions>();
  Verb verb;
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
                  {"--in", "How long the notice lasts", &options->in, "DURATION"}};
  verb.run = [options](Context& context) { return Run(context, *options); };
  verb.options_owner = options;
  return verb;
}

}  // namespace stoker::cli
