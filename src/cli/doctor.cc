// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "cli/terminal/context.h"
#include "cli/terminal/table.h"
#include "cli/verb.h"
#include "client/doctor.h"
#include "client/rights.h"

namespace stoker::cli {
namespace {

struct DoctorOptions {
  std::string job;
  std::string infra;
  std::string gone;
  bool iam = false;
  std::string write;
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

// As one types it.
std::string Typed(const std::string& path) {
  const bool plain = std::all_of(path.begin(), path.end(), [](char c) {
    return IsAlnum(c) || c == '/' || c == '.' || c == '_' || c == '-';
  });
  return plain ? path : ShellQuote(path);
}

std::string NextCommands(const Rights& rights) {
  return "whoever manages the account types next:\n  " + Join(rights.commands, "\n  ") + "\n" +
         rights.how;
}

Status PrintRights(Context& context, const Rights& rights) {
  if (context.json) {
    nlohmann::ordered_json all;  // by names without ".json"
    for (const RightsFile& file : rights.files) {
      all[file.name.substr(0, file.name.rfind('.'))] = nlohmann::ordered_json::parse(file.text);
    }
    context.Print(all.dump() + "\n");
    return Status::Ok();
  }
  for (const RightsFile& file : rights.files) {
    context.Print(file.name + ", for " + file.what + ":\n" + file.text + "\n\n");
  }
  context.Print("'--write FOLDER' writes these files; " + NextCommands(rights));
  return Status::Ok();
}

Status WriteRights(Context& context, Rights rights, const std::string& folder) {
  STOKER_ASSIGN(const auto written, client::WriteRights(rights, folder));
  rights.Fill(kRightsFolder, Typed(folder));
  if (context.json) {
    nlohmann::json files = nlohmann::json::array();
    for (const auto& file : written) files.push_back({{"path", file.path}, {"written", file.anew}});
    context.Print(
        nlohmann::json({{"files", files}, {"next", rights.commands}, {"how", rights.how}}).dump() +
        "\n");
    return Status::Ok();
  }
  for (size_t i = 0; i < written.size(); ++i) {
    context.Print((written[i].anew ? "wrote " : "was there already: ") +
                  Printable(written[i].path) + ", for " + rights.files[i].what + "\n");
  }
  context.Print(NextCommands(rights));
  return Status::Ok();
}

Status TellRights(Context& context, const DoctorOptions& options) {
  STOKER_ASSIGN(Rights rights, client::FindRights(context, options.infra));
  if (options.write.empty()) return PrintRights(context, rights);
  return WriteRights(context, std::move(rights), options.write);
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
  if (options.iam) return TellRights(context, options);
  if (!options.write.empty()) {
    return Status(Code::kUsage, "--write goes with --iam", "stoker doctor --iam --write FOLDER");
  }
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
      "programs, room on the disk, git, bash and Python, engines for containers, left-over "
      "machines, "
      "the timer. For a "
      "bucket "
      "it also says whose credentials are used and what deleted data goes on costing; with JOB, "
      "what that job's checkpoints cost. --iam prints the smallest set of rights the bucket must "
      "grant; with --write FOLDER they are files, and the commands that use them are printed. With "
      "--infra ssh/POOL it connects to each box of that pool instead: whether it "
      "answers, what it has, and whether it sees the store. With --infra aws/REGION it tries each "
      "right that a submitter needs there, and makes nothing but a parameter of SSM, as a job's "
      "secret would be one, which it removes; with gcp/REGION it reads what Google "
      "says of project, quotas, network, firewall and your rights. What is not tried is named. "
      "With --infra slurm or "
      "slurm/PARTITION "
      "it asks Slurm, and runs a job of a moment to see whether a node sees what it must. "
      "Ends with 1 when something is bad.";
  verb.examples = {"stoker doctor",
                   "stoker doctor --json",
                   "stoker doctor --iam",
                   "stoker doctor --infra ssh/lab",
                   "stoker doctor --infra slurm/gpu",
                   "stoker doctor --infra aws/us-east-1",
                   "stoker doctor --infra gcp/us-central1",
                   "stoker doctor --iam --infra aws/us-east-1 --write iam"};
  auto options = std::make_shared<DoctorOptions>();
  verb.options_owner = options;
  verb.options = {
      {"JOB", "Also say what this job's checkpoints cost", &options->job},
      {"--infra",
       "Look elsewhere instead: ssh/POOL, slurm[/PARTITION], or the rights in aws/REGION",
       &options->infra, "PLACE"},
      {"--gone", "This box of a pool will not come back as it was: its jobs go on elsewhere",
       &options->gone, "BOX"},
      {"--iam", "Print the rights that the store's bucket must grant", &options->iam},
      {"--write", "With --iam: write them as files into this folder", &options->write, "FOLDER"}};
  verb.run = [options](Context& context) { return Run(context, *options); };
  return verb;
}

}  // namespace stoker::cli
