// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <thread>

#include "base/json.h"
#include "base/text.h"
#include "cli/confirm.h"
#include "cli/context.h"
#include "cli/local_time.h"
#include "cli/removals.h"
#include "cli/reserve.h"
#include "cli/verb.h"
#include "controller/controller.h"
#include "ledger/collect/collect.h"
#include "ledger/collect/doomed.h"
#include "ledger/paths.h"

namespace stoker::cli {
namespace {

constexpr Duration kPatience = Duration::Seconds(10);

struct RmOptions {
  std::vector<std::string> jobs;
  bool now = false;
  bool yes = false;
};

// By the word that was given, or the id; in this order.
using Refused = std::vector<std::pair<std::string, Status>>;

// It may have ended, and nobody has noticed; the machine of one that has just ended goes within a
// moment.
void AwaitEnd(Context& context, Ledger& ledger, Controller& controller, const std::string& id) {
  const MonoTime until = context.clock().Mono() + kPatience;
  for (;;) {
    const auto pass = controller.Pass(id);
    const bool over = !pass.ok() || !IsFinal(pass->job.state) ||
                      KeptUntil(pass->job, pass->store_now) ||
                      !ledger.store().Head(paths::Active(id)).ok();
    if (over || context.clock().Mono() >= until) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

std::set<std::string> Resolve(Context& context, const RmOptions& options, Ledger& ledger,
                              Controller& controller, Refused* refused) {
  std::set<std::string> ids;
  for (const std::string& word : options.jobs) {
    const auto id = context.ResolveJob(word);
    if (!id.ok()) {
      refused->emplace_back(Printable(word), id.status());
      continue;
    }
    AwaitEnd(context, ledger, controller, *id);
    ids.insert(*id);
  }
  return ids;
}

Status MustStay(const Survey& survey, const std::string& id) {
  if (survey.unreadable.contains(id)) {
    return Status(Code::kInvalid, "the record of job " + id + " cannot be read: it may run",
                  "docs/bucket-layout.md says how to give up such a job");
  }
  if (survey.active.contains(id)) {
    const auto kin = survey.kin.find(id);
    const bool ended = kin != survey.kin.end() && kin->second.ended;
    return Status(Code::kInvalid,
                  "job " + id + (ended ? " has machines that are not gone yet" : " has not ended"),
                  "'stoker cancel " + id + "' ends " + (ended ? "them" : "it"));
  }
  return Status::Ok();
}

// Takes out of `ids` what must stay.
void Refuse(const Survey& survey, std::set<std::string>* ids, Refused* refused) {
  for (auto id = ids->begin(); id != ids->end();) {
    const Status why = MustStay(survey, *id);
    if (!why.ok()) refused->emplace_back(*id, why);
    id = why.ok() ? std::next(id) : ids->erase(id);
  }
  for (const auto& [id, by] : NeededOf(survey, *ids)) {
    ids->erase(id);
    refused->emplace_back(id, survey.blind.contains(by)
                                  ? Status(Code::kInvalid,
                                           "job " + id + " stays: the record of job " + by +
                                               " cannot be read, and it may begin from any other",
                                           "Put back an older version of records/" + by + ".json")
                                  : Status(Code::kInvalid,
                                           "job " + id + " stays: job " + by +
                                               " goes on from it, and may still begin from it",
                                           "Remove both: stoker rm " + id + " " + by));
  }
}

Status Ask(Context& context, const RmOptions& options, const std::set<std::string>& ids) {
  if (!options.now || options.yes) return Status::Ok();
  const std::string what = Join({ids.begin(), ids.end()}, ", ");
  if (Confirm(context, "This removes " + what +
                           " at once, with logs, checkpoints and outputs. "
                           "Go on?")) {
    return Status::Ok();
  }
  return Status(Code::kUsage, "--now would remove " + what + ": nothing was done",
                "If you mean it, add --yes; without --now it goes in an hour");
}

struct Done {
  Removed removed;
  std::map<std::string, WallTime> goes;  // by job, when not at once
};

Result<Done> Remove(Context& context, Ledger& ledger, const RmOptions& options,
                    const std::set<std::string>& ids, Survey* survey) {
  Done done;
  const std::vector<std::string> jobs(ids.begin(), ids.end());
  if (jobs.empty()) return done;
  CollectRequest request;
  request.by = context.user();
  request.progress = [&](const std::string& what) { context.Progress(what); };
  if (options.now) {
    STOKER_ASSIGN(done.removed, RemoveNow(ledger, jobs, request, survey));
    return done;
  }
  // What is doomed already goes when it was to go.
  STOKER_ASSIGN(const DoomedRead doomed, ReadDoomed(ledger));
  const auto already = GoesAt(doomed);
  std::vector<std::string> fresh;
  for (const std::string& id : jobs) {
    if (!already.contains(id)) fresh.push_back(id);
  }
  auto lists = Doom(ledger, doomed.now, fresh, {}, request.by, false);
  if (lists.status().Is(Code::kNoSpace) && LetGoOfReserve(context)) {
    lists = Doom(ledger, doomed.now, fresh, {}, request.by, false);
    KeepReserve(context);
  }
  if (lists.status().Is(Code::kNoSpace)) {
    return lists.status().WithNext("'stoker rm --now' removes a job at once, and needs no room");
  }
  if (!lists.ok()) return lists.status();
  for (const std::string& id : jobs) {
    const auto known = already.find(id);
    done.goes[id] = known != already.end() ? known->second : doomed.now + kDoomedFor;
  }
  return done;
}

void Print(Context& context, const Done& done, const Refused& refused) {
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
  TellStayed(context, done.removed);
}

Status Run(Context& context, const RmOptions& options) {
  if (options.jobs.empty()) {
    return Status(Code::kUsage, "no job was given", "stoker rm JOB…");
  }
  STOKER_ASSIGN(Ledger * ledger, context.ledger());
  STOKER_ASSIGN(Controller * controller, context.controller());
  Refused refused;
  std::set<std::string> ids = Resolve(context, options, *ledger, *controller, &refused);
  Survey survey;
  STOKER_TRY(Recheck(
      *ledger, [&](const std::string& what) { context.Progress(what); }, &survey));
  Refuse(survey, &ids, &refused);
  // With --json, what is printed at the end has them.
  for (const auto& [id, why] : refused) {
    if (!context.json) context.PrintError(why);
  }
  if (!ids.empty()) STOKER_TRY(Ask(context, options, ids));
  STOKER_ASSIGN(const Done done, Remove(context, *ledger, options, ids, &survey));
  Print(context, done, refused);
  if (!refused.empty() || !done.removed.needed.empty() || !done.removed.index.ok()) {
    context.exit_code = 1;
  }
  return Status::Ok();
}

}  // namespace

Verb RmVerb() {
  auto options = std::make_shared<RmOptions>();
  Verb verb;
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
  verb.run = [options](Context& context) { return Run(context, *options); };
  verb.options_owner = options;
  return verb;
}

}  // namespace stoker::cli
