// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include <chrono>
#include <map>

#include "base/text.h"
#include "cli/context.h"
#include "cli/story.h"
#include "cli/table.h"
#include "cli/verb.h"
#include "controller/all_jobs.h"
#include "ledger/index.h"

namespace stoker::cli {
namespace {

using nlohmann::json;

// Looking is also looking after, but a list must come at once: passes get this long in all.
constexpr Duration kPassBudget = Duration::Ms(300);
constexpr size_t kShown = 20;

struct Options {
  bool all = false;
  bool ids = false;
  std::string state;
  std::string name;
};

std::string Reason(const Summary& job) {
  if (job.reason == EndReason::kNone) return "";
  std::string text(Name(job.reason));
  if (job.reason == EndReason::kUserError || job.reason == EndReason::kNoProgress) {
    text += job.out_of_memory ? " (out of memory)"
            : job.signal != 0 ? " (signal " + std::to_string(job.signal) + ")"
                              : " (exit " + std::to_string(job.exit_code) + ")";
  }
  return text;
}

bool Wanted(const Options& options, const Summary& job) {
  if (!options.name.empty() && job.name != options.name) return false;
  return options.state.empty() || Name(job.state) == options.state;
}

json ToJson(const Summary& job) {
  const auto time = [](const std::optional<WallTime>& t) {
    return t ? json(FormatRfc3339(*t)) : json(nullptr);
  };
  return {{"id", job.id},
          {"name", job.name},
          {"user", job.user},
          {"state", Name(job.state)},
          {"attempts", job.attempts},
          {"nodes", job.num_nodes},
          {"where", job.provider},
          {"created", FormatRfc3339(job.created)},
          {"started", time(job.started)},
          {"ended", time(job.ended)},
          {"run_ms", job.run_ms},
          {"reason", Name(job.reason)},
          {"exit_code", job.exit_code},
          {"signal", job.signal},
          {"newest_checkpoint", job.newest_checkpoint},
          {"retry_of", job.retry_of},
          {"rev", job.rev}};
}

std::string ForPeople(Context& context, const std::vector<Summary>& jobs, WallTime now) {
  std::vector<std::vector<std::string>> rows = {{"JOB", "NAME", "STATUS", "ATTEMPT", "NODES", "AGE",
                                                 "DURATION", "WHERE", "REASON", "CHECKPOINT"}};
  for (const Summary& job : jobs) {
    const char* colour = job.state == JobState::kSucceeded ? "32"
                         : job.state == JobState::kFailed  ? "31"
                                                           : "36";
    const Duration ran = job.ended ? *job.ended - job.created : now - job.created;
    rows.push_back({job.id, job.name, context.Style(colour, Name(job.state)),
                    std::to_string(job.attempts), std::to_string(job.num_nodes),
                    HumanDuration(std::max(Duration{}, now - job.created)),
                    HumanDuration(std::max(Duration{}, ran)), job.provider, Reason(job),
                    job.newest_checkpoint});
  }
  return FormatTable(rows);
}

// What a pass saw that records do not hold until an attempt ends, by job id.
struct Live {
  std::string checkpoint;
  int64_t run_ms = 0;
};

std::map<std::string, Live> HelpAlong(Context& context) {
  std::map<std::string, Live> live;
  const auto ledger = context.ledger();
  const auto controller = context.controller();
  if (!ledger.ok() || !controller.ok()) return live;
  const MonoTime end = context.clock().Mono() + kPassBudget;
  (void)PassAll(
      **ledger, **controller,
      [&](const std::string& id, const Result<PassResult>& pass) {
        if (!pass.ok()) return;
        live[id] = {NewestCheckpoint(pass->job, pass->reports),
                    RunTime(pass->job, pass->reports, pass->store_now).ms};
      },
      [&] { return context.clock().Mono() >= end; });
  return live;
}

Status Run(Context& context, const Options& options) {
  STOKER_ASSIGN(Ledger * ledger, context.ledger());
  const std::map<std::string, Live> live = HelpAlong(context);
  STOKER_ASSIGN(const JobList list, ListJobs(*ledger));
  for (const std::string& warning : list.warnings) context.Say(warning);
  std::vector<Summary> shown;
  size_t hidden = 0;
  for (const Summary& job : list.jobs) {
    if (!Wanted(options, job)) continue;
    const bool keep = options.all || context.json || !IsFinal(job.state) || shown.size() < kShown;
    if (!keep) {
      ++hidden;
      continue;
    }
    shown.push_back(job);
    if (const auto seen = live.find(job.id); seen != live.end()) {
      shown.back().newest_checkpoint = seen->second.checkpoint;
      shown.back().run_ms = seen->second.run_ms;
    }
  }
  if (options.ids) {
    std::string text;
    for (const Summary& job : shown)
      text += job.id + "\n" + (job.name.empty() ? "" : job.name + "\n");
    context.Print(text);
  } else if (context.json) {
    std::string text = "[";
    for (const Summary& job : shown) text += (text.size() > 1 ? ",\n " : "") + ToJson(job).dump();
    context.Print(text + "]\n");
  } else if (shown.empty()) {
    context.Say("no jobs yet: stoker run -- python train.py");
  } else {
    context.Print(ForPeople(context, shown, context.clock().Wall()));
    if (hidden > 0) context.Say(std::to_string(hidden) + " older jobs: stoker ls --all");
  }
  return Status::Ok();
}

}  // namespace

Verb LsVerb() {
  auto options = std::make_shared<Options>();
  Verb verb;
  verb.name = "ls";
  verb.summary = "List jobs, newest first";
  verb.description =
      "Lists the jobs of the ledger: what they do, where, since when, how they ended. The newest, "
      "unless all are asked for. Also helps active jobs along.";
  verb.examples = {"stoker ls", "stoker ls --all --state Failed", "stoker ls --json"};
  verb.options = {
      {"-a,--all", "All jobs, not only the newest", &options->all},
      {"--ids", "Only ids and names, one a line", &options->ids},
      {"--name", "Only jobs of this name", &options->name, "NAME"},
      {"--state",
       "Only jobs in this state",
       &options->state,
       "",
       false,
       {"Pending", "Waiting", "Running", "Stopping", "Succeeded", "Failed", "Cancelled"}}};
  verb.run = [options](Context& context) { return Run(context, *options); };
  verb.options_owner = options;
  return verb;
}

}  // namespace stoker::cli
