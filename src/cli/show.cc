// SPDX-License-Identifier: Apache-2.0

#include "base/json.h"
#include "base/text.h"
#include "cli/terminal/context.h"
#include "cli/terminal/local_time.h"
#include "cli/verb.h"
#include "cli/words/counted.h"
#include "cli/words/ran_text.h"
#include "cli/words/story.h"
#include "client/clear/removals.h"
#include "client/cloud_logs.h"
#include "client/open/full_store.h"
#include "client/tiers.h"
#include "client/unsaved_here.h"
#include "ledger/index.h"
#include "ledger/records.h"
#include "spec/parse.h"
#include "view/kept_outputs.h"
#include "view/metrics.h"
#include "view/ran.h"
#include "view/told.h"

namespace stoker::cli {
namespace {

constexpr size_t kMetricsShown = 4;

struct ShowOptions {
  std::string job = "-";
  bool env = false;
};

// --env: of the record and what nodes have told, without a pass.
Status ShowEnvironment(Context& context, const std::string& id) {
  STOKER_ASSIGN(Ledger * ledger, context.ledger());
  STOKER_ASSIGN(const JobRead read, ReadJob(*ledger, id));
  Status trouble;
  const std::vector<Ran> all = ReadRan(ledger->store(), read.job, &trouble);
  if (context.json) {
    nlohmann::json out = RanJson(all);
    out["job"] = id;
    context.Print(out.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  } else {
    context.Print(RanText(read.job, all));
  }
  if (!trouble.ok()) context.Say(trouble.ToString());
  return Status::Ok();
}

// What was found, and where.
std::string MetricsText(const MetricTotals& totals) {
  const std::string text = TotalsText(totals, kMetricsShown);
  if (text.empty()) return "";
  std::string from;
  for (const std::string& one : totals.found_in)
    from += (from.empty() ? "" : ", ") + Printable(one);
  std::string warnings;
  for (const std::string& one : totals.warnings) {
    warnings += "  warning     " + Printable(one) + "\n";
  }
  return "  metrics     " + text + "\n" +
         (from.empty() ? "" : "              from " + from + "\n") + warnings;
}

void AddCounted(const std::vector<CountedThere>& counted, nlohmann::json* out) {
  for (const CountedThere& there : counted) {
    auto& told = (*out)[there.provider->name + std::string("_accounting")];
    if (there.trouble.ok()) told = CountedJson(there.counted);
    if (!there.trouble.ok()) told["trouble"] = there.trouble.ToString();
  }
}

std::string AccountingRows(const std::vector<CountedThere>& counted) {
  std::string rows;
  for (const CountedThere& there : counted) {
    if (there.trouble.ok()) rows += "  accounting  " + CountedText(there) + "\n";
  }
  return rows;
}

std::string ToldRows(const std::vector<ToldWhom>& told) {
  std::string rows;
  for (const ToldWhom& one : told) rows += "  told        " + ToldText(one) + "\n";
  return rows;
}

void AddCloudLogs(const std::vector<CloudLogQuery>& all, nlohmann::json* out) {
  for (const CloudLogQuery& one : all) {
    (*out)["cloud_logs"].push_back(
        {{"title", one.title}, {"command", one.command}, {"console", one.console}});
  }
}

std::string CloudLogRows(const std::vector<CloudLogQuery>& all) {
  std::string rows;
  for (const CloudLogQuery& one : all) {
    rows += "  cloud log   " + one.title + ": " + Printable(one.command) + "\n              " +
            Printable(one.console) + "\n";
  }
  return rows;
}

std::string RanRow(const std::string& ran_with, const std::string& job) {
  if (ran_with.empty()) return "";
  return "  ran with    " + ran_with + ": stoker show --env " + job + "\n";
}

// "in 12m (15:04)": of a job that is to be removed.
std::string GoesText(WallTime goes, WallTime now) {
  return now < goes ? "in " + HumanDuration(goes - now) + " (" + LocalTime(goes) + ")"
                    : "by the next 'stoker gc' or 'stoker controller'";
}

Status Run(Context& context, const ShowOptions& options) {
  STOKER_ASSIGN(const std::string id, context.ResolveJob(options.job));
  if (options.env) return ShowEnvironment(context, id);
  STOKER_ASSIGN(Controller * controller, context.controller());
  STOKER_ASSIGN(Ledger * ledger, context.ledger());
  STOKER_ASSIGN(const PassResult pass, controller->Pass(id));
  const auto text = ReadSpec(*ledger, pass.job);
  const auto spec = text.ok() ? ParseStoredSpec(*text) : Result<JobSpec>(text.status());
  const JobSpec* known = spec.ok() ? &*spec : nullptr;
  const auto said = SaidOf(*ledger, id);
  Status usage_trouble;
  const StoryInput input{pass.job,
                         known,
                         pass.reports,
                         pass.store_now,
                         client::RecoveryTiers(context, pass.job, known),
                         ReadUsage(ledger->store(), pass.job, &usage_trouble),
                         said.ok() ? *said : Labels()};
  const auto totals = ReadMetricTotals(ledger->store(), pass.job.id);
  const auto facts = NewestRunFacts(ledger->store(), pass.job);
  const std::string ran_with = facts ? RanLine(*facts) : "";
  const KeptOutputs kept = ReadKeptOutputs(ledger->store(), pass.job.id);
  const std::vector<ToldWhom> told = ReadTold(*ledger, pass.job.id, known);
  const std::vector<CloudLogQuery> cloud_logs = client::CloudLogsOf(*ledger, pass.job, known);
  const std::vector<CountedThere> counted = ReadCounted(context, pass.job, known);
  const auto unsaved = client::UnsavedHere(context.places().state, pass.job.id);
  std::optional<WallTime> goes;
  if (IsFinal(pass.job.state)) {
    const auto doomed = client::WhatGoes(context);
    if (const auto found = doomed.find(pass.job.id); found != doomed.end()) goes = found->second;
  }
  if (context.json) {
    nlohmann::json out = StoryJson(input);
    out["goes"] = goes ? nlohmann::json(FormatRfc3339(*goes)) : nlohmann::json(nullptr);
    out["kept"] = KeptJson(kept);
    if (!ran_with.empty()) out["ran_with"] = ran_with;
    out["usage"] = UsageJson(input.usage);
    if (totals.ok()) out["metrics"] = TotalsJson(*totals);
    if (totals.ok()) out["metrics_found_in"] = totals->found_in;
    AddCounted(counted, &out);
    if (totals.ok()) out["metrics_warnings"] = totals->warnings;
    out["queued"] = Queued(pass.job, pass.machines);
    out["unsaved_here"] = unsaved;
    if (known != nullptr && !known->notify.empty()) out["told"] = ToldJson(told);
    AddCloudLogs(cloud_logs, &out);
    if (text.ok()) out["spec"] = *text;
    context.Print(out.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  } else {
    std::string waiting;
    for (const std::string& line : Queued(pass.job, pass.machines)) {
      waiting += "  waiting     " + line + "\n";
    }
    context.Print(TellStory(input) + waiting + (totals.ok() ? MetricsText(*totals) : "") +
                  AccountingRows(counted) + RanRow(ran_with, id) + ToldRows(told) +
                  CloudLogRows(cloud_logs) + "  kept        " + KeptText(kept, pass.job.id) + "\n" +
                  client::UnsavedText(pass.job, unsaved) +
                  (goes ? "  goes        " + GoesText(*goes, pass.store_now) +
                              "; 'stoker retry' or 'stoker run --from' keeps it\n"
                        : ""));
  }
  if (!said.ok()) context.Say("names, tags and notes: " + said.status().ToString());
  if (!totals.ok()) context.Say("metrics: " + totals.status().ToString());
  if (!usage_trouble.ok()) context.Say(usage_trouble.ToString());
  for (const CountedThere& there : counted) {
    if (!there.trouble.ok()) context.Say(there.trouble.ToString());
  }
  if (!IsFinal(pass.job.state)) client::FullStoreTeller().Tell(context, ledger->store());
  if (pass.trouble) context.Say(pass.trouble->ToString());
  return Status::Ok();
}

}  // namespace

Verb ShowVerb() {
  auto options = std::make_shared<ShowOptions>();
  Verb verb = VerbOf(options, Run);
  verb.name = "show";
  verb.summary = "Tell the story of a job, attempt by attempt";
  verb.description =
      "Tells the story of a job: each attempt and node, where it ran, which checkpoint it started "
      "from, what CPU, memory and GPU it used, what Slurm has counted of it, how it ended and why, "
      "and who would restart it now. --env tells with what it ran instead: machine, driver, Python "
      "and its packages, and the variables of the program.";
  verb.examples = {"stoker show digits", "stoker show digits --env", "stoker show - --json"};
  verb.options = {{"JOB", "Which job ('-' = your last)", &options->job, ""},
                  {"--env", "With what its program ran", &options->env}};
  return verb;
}

}  // namespace stoker::cli
