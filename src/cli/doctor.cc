// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "cli/terminal/context.h"
#include "cli/terminal/table.h"
#include "cli/verb.h"
#include "client/doctor.h"

namespace stoker::cli {
namespace {

struct DoctorOptions {
  std::string job;
  std::string infra;
  std::string gone;
  bool iam = false;
};

Status TellFindings(Context& context, const std::vector<Finding>& findings) {
  nlohmann::json all = nlohmann::json::array();
  std::vector<std::vector<std::string>> rows;
  bool bad = false;
  for (const Finding& finding : findings) {
    bad |= finding.level == "bad";
    all.push_back({{"what", finding.what}, {"level", finding.level}, {"text", finding.text}});
    const char* colour = finding.level == "ok" ? "32" : finding.level == "bad" ? "31" : "33";
    rows.push_back({context.Style(colour, finding.level), finding.what, Printable(finding.text)});
  }
  context.Print(context.json ? all.dump() + "\n" : FormatTable(rows));
  if (bad) context.exit_code = 1;
  return Status::Ok();
}

Status PrintRights(Context& context, const std::string& infra) {
  STOKER_ASSIGN(const Rights rights, client::FindRights(context, infra));
  if (context.json) {
    const nlohmann::ordered_json both = {
        {"submitter", nlohmann::ordered_json::parse(rights.submitter)},
        {"node", nlohmann::ordered_json::parse(rights.node)}};
    context.Print(both.dump() + "\n");
    return Status::Ok();
  }
  context.Print("submitter.json, for whoever submits and looks:\n" + rights.submitter +
                "\n\nnode.json, for machines that run jobs:\n" + rights.node + "\n\n" + rights.how);
  return Status::Ok();
}

Status GiveUp(Context& context, const std::string& box) {
  STOKER_ASSIGN(const int given_up, client::GiveUpBox(context, box));
  context.Say(given_up == 0
                  ? "no job that is looked after has a machine on " + box
                  : std::to_string(given_up) + (given_up == 1 ? " machine" : " machines") + " on " +
                        box + " will not be waited for: the next look at each job starts others");
  return Status::Ok();
}

Status Run(Context& context, const DoctorOptions& options) {
  if (options.iam) return PrintRights(context, options.infra);
  if (!options.gone.empty()) return GiveUp(context, options.gone);
  STOKER_ASSIGN(const auto findings, client::Examine(context, options.job, options.infra));
  return TellFindings(context, findings);
}

}  // namespace

Verb DoctorVerb() {
  Verb verb;
  verb.name = "doctor";
  verb.summary = "Check this machine, the store and the settings";
  verb.description =
      "Checks what jobs need: the settings, the store and its conditional writes, ways to end "
      "programs, room on the disk, git, bash and Python, left-over machines, the timer. For a "
      "bucket "
      "it also says whose credentials are used and what deleted data goes on costing; with JOB, "
      "what that job's checkpoints cost. --iam prints the smallest set of rights the bucket must "
      "grant. With --infra ssh/POOL it connects to each box of that pool instead: whether it "
      "answers, what it has, and whether it sees the store. With --infra aws/REGION it tries each "
      "right that a submitter needs there, and makes nothing. With --infra slurm or "
      "slurm/PARTITION "
      "it asks Slurm, and runs a job of a moment to see whether a node sees what it must. "
      "Ends with 1 when something is bad.";
  verb.examples = {"stoker doctor",
                   "stoker doctor --json",
                   "stoker doctor --iam",
                   "stoker doctor --infra ssh/lab",
                   "stoker doctor --infra slurm/gpu",
                   "stoker doctor --infra aws/us-east-1",
                   "stoker doctor --iam --infra aws/us-east-1"};
  auto options = std::make_shared<DoctorOptions>();
  verb.options_owner = options;
  verb.options = {
      {"JOB", "Also say what this job's checkpoints cost", &options->job},
      {"--infra",
       "Look elsewhere instead: ssh/POOL, slurm[/PARTITION], or the rights in aws/REGION",
       &options->infra, "PLACE"},
      {"--gone", "This box of a pool will not come back as it was: its jobs go on elsewhere",
       &options->gone, "BOX"},
      {"--iam", "Print the rights that the store's bucket must grant", &options->iam}};
  verb.run = [options](Context& context) { return Run(context, *options); };
  return verb;
}

}  // namespace stoker::cli
