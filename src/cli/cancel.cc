// SPDX-License-Identifier: Apache-2.0

#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "cli/terminal/context.h"
#include "cli/verb.h"
#include "client/cancel.h"

namespace stoker::cli {
namespace {

struct CancelOptions {
  std::vector<std::string> jobs;
  bool no_wait = false;
  bool all = false;
  bool yes = false;
  std::string user;
};

void Tell(Context& context, const client::Cancelled& one, bool alone) {
  if (context.json) return;
  if (one.failed.ok()) {
    context.Print(client::CancelledText(one) + "\n");
  } else if (!alone) {
    context.PrintError(one.failed);  // of one job alone it is the command's own error
  }
}

// A user name is no person: two machines may both have "ubuntu". Those of another id are named, and
// taken only when somebody says so.
bool TakesOthers(Context& context, const client::AllJobs& all) {
  if (all.others.empty()) return false;
  const bool one = all.others.size() == 1;
  const std::string name = context.user();
  context.Say((one ? "a job of the user name '" : "jobs of the user name '") + name +
              "' and another id " + (one ? "has" : "have") +
              " not ended: " + Join(all.others_told, ", "));
  if (context.Confirm("Cancel " + std::string(one ? "it" : "these") + ", too?")) return true;
  context.Say((one ? "it is" : "they are") + std::string(" left: 'stoker cancel --all --user ") +
              name + "' takes them; 'stoker config set me ID' makes another computer yours");
  context.exit_code = 1;
  return false;
}

Result<std::vector<std::string>> AllOfThem(Context& context, const CancelOptions& options) {
  auto found = client::FindAll(context, options.user);
  if (context.no_store_yet()) found = client::AllJobs();
  STOKER_ASSIGN(const client::AllJobs all, std::move(found));
  if (all.unread) context.exit_code = 1;
  std::vector<std::string> ids = all.mine;
  if (ids.empty()) {
    context.Say(options.user.empty() ? "you have no job that has not ended"
                                     : Printable(options.user) + " has no job that has not ended");
  }
  const std::string asked = std::to_string(ids.size()) + " jobs: " + Join(all.told, ", ");
  if (!ids.empty() && !options.yes && !context.Confirm("Cancel " + asked + "?")) {
    return Status(Code::kUsage, "--all means " + asked, "Add --yes to cancel them");
  }
  if (TakesOthers(context, all)) ids.insert(ids.end(), all.others.begin(), all.others.end());
  return ids;
}

Result<std::vector<client::Cancelled>> ChosenJobs(Context& context, const CancelOptions& options) {
  const bool all = options.all || !options.user.empty();
  if (all != options.jobs.empty()) {
    return Status(Code::kUsage, all ? "both jobs and --all were given" : "no job was given",
                  "stoker cancel JOB…, or: stoker cancel --all");
  }
  if (!all) return client::FindRunning(context, options.jobs);
  STOKER_ASSIGN(const auto ids, AllOfThem(context, options));
  std::vector<client::Cancelled> chosen;
  for (const std::string& id : ids) {
    client::Cancelled& one = chosen.emplace_back();
    one.word = id;
    one.id = id;
  }
  return chosen;
}

nlohmann::json ToJson(const client::Cancelled& one) {
  if (one.failed.ok()) {
    return {{"id", one.job->id}, {"name", one.job->name}, {"state", Name(one.job->state)}};
  }
  return {{"id", one.id.empty() ? nlohmann::json(nullptr) : nlohmann::json(one.id)},
          {"job", one.word},
          {"error",
           {{"code", CodeName(one.failed.code())},
            {"message", one.failed.message()},
            {"next", one.failed.next()}}}};
}

Status Run(Context& context, const CancelOptions& options) {
  STOKER_ASSIGN(std::vector<client::Cancelled> all, ChosenJobs(context, options));
  const bool alone = all.size() == 1;
  client::CancelJobs(
      context, !options.no_wait, [&](const client::Cancelled& one) { Tell(context, one, alone); },
      &all);
  if (alone && !all[0].failed.ok()) return all[0].failed;
  nlohmann::json out = nlohmann::json::array();
  size_t failed = 0;
  for (const client::Cancelled& one : all) {
    out.push_back(ToJson(one));
    failed += one.failed.ok() ? 0 : 1;
  }
  if (context.json) context.Print(out.dump() + "\n");
  if (failed > 0) {
    context.exit_code = 1;
    context.Say(std::to_string(failed) + " of " + std::to_string(all.size()) +
                " jobs could not be cancelled: the errors stand above");
  }
  return Status::Ok();
}

}  // namespace

Verb CancelVerb() {
  auto options = std::make_shared<CancelOptions>();
  Verb verb = VerbOf(options, Run);
  verb.name = "cancel";
  verb.summary = "Stop jobs; their logs and checkpoints are kept";
  verb.description =
      "Stops jobs. The program gets SIGTERM, and SIGKILL once stop_grace has passed; its logs, "
      "checkpoints and outputs are kept. Of several jobs all are told first, and then waited for "
      "together until they have ended; one that cannot be cancelled keeps no other from it. Of a "
      "job that failed, it ends the machines that keep_failed keeps; so does --all. Of several "
      "jobs of one name it takes the newest that has not ended, and says so. --all takes the jobs "
      "of your id ('stoker config get me'); those of your user name and another id, it names and "
      "asks, and leaves them where there is no terminal.";
  verb.examples = {"stoker cancel digits", "stoker cancel k3f7 9w2m --no-wait",
                   "stoker cancel --all", "stoker cancel --all --user ubuntu"};
  verb.options = {
      {"JOBS", "The jobs to stop", &options->jobs, "JOB…"},
      {"-a,--all", "All your jobs that have not ended, or whose machines are kept", &options->all},
      {"--user", "All jobs of this user name instead, whoever's they are", &options->user, "NAME"},
      {"-y,--yes", "Do not ask before --all", &options->yes},
      {"--no-wait", "Return at once", &options->no_wait}};
  return verb;
}

}  // namespace stoker::cli
