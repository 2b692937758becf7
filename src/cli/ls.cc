// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <set>

#include "base/text.h"
#include "cli/context.h"
#include "cli/story.h"
#include "cli/table.h"
#include "cli/verb.h"
#include "controller/all_jobs.h"
#include "ledger/index.h"
#include "ledger/records.h"
#include "spec/parse.h"

namespace stoker::cli {
namespace {

using nlohmann::json;

// Looking is also looking after, but a list must come at once: passes get this long in all.
constexpr Duration kPassBudget = Duration::Ms(300);
constexpr size_t kShown = 20;

struct Options {
  bool all = false;
  bool ids = false;
  bool hyperparameters = false;
  std::string state;
  std::string name;
};

std::string Reason(const Summary& job) {
  if (job.reason == EndReason::kNone) return "";
  std::string text(Name(job.reason));
  if (job.reason == EndReason::kUserError || job.reason == EndReason::kNoProgress) {
    text += job.out_of_memory    ? " (out of memory)"
            : job.signal != 0    ? " (signal " + std::to_string(job.signal) + ")"
            : job.exit_code != 0 ? " (exit " + std::to_string(job.exit_code) + ")"
                                 : "";
  }
  return text;
}

bool Wanted(const Options& options, const Summary& job) {
  if (!options.name.empty() && job.name != options.name) return false;
  return options.state.empty() || Name(job.state) == options.state;
}

// "lr=0.1 opt={...}", as they were given; "?" where the job file cannot be read.
std::string Hyperparameters(Ledger& ledger, const std::string& id) {
  Job job;  // not compared with the record, which `ls` does not read
  job.id = id;
  const auto text = ReadSpec(ledger, job);
  const auto spec = text.ok() ? ParseStoredSpec(*text) : Result<JobSpec>(text.status());
  if (!spec.ok()) return "?";
  std::vector<std::string> parts;
  for (const auto& [name, value] : spec->hyperparameters) {
    const bool quoted = value.size() > 1 && value[0] == '"';
    parts.push_back(Printable(name + "=" + (quoted ? value.substr(1, value.size() - 2) : value)));
  }
  return Join(parts, " ");
}

json ToJson(const Summary& job) {
  const auto time = [](const std::optional<WallTime>& t) {
    return t ? json(FormatRfc3339(*t)) : json(nullptr);
  };
  return {{"id", job.id},
          {"name", job.name},
          {"user", job.user},
          {"host", job.host},
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

// Of a job whose record cannot be read there is only its id; what is wrong stands where all else
// would.
json ToJson(const UnreadableJob& job) {
  return {{"id", job.id},
          {"state", nullptr},
          {"unreadable", {{"code", CodeName(job.why.code())}, {"message", job.why.message()}}}};
}

struct Column {
  std::string head;
  ColumnRule rule;
  std::function<std::string(const Summary&)> cell;
};

// Whose each job is and where it was submitted, when not all are this user's from this machine.
std::optional<Column> Owner(Context& context, const std::vector<Summary>& jobs) {
  const auto local = context.local_provider();
  const std::string here = local.ok() ? (*local)->host() : "";
  const auto mine = [&](const Summary& job) {
    return job.user == context.user() && (job.host.empty() || job.host == here);
  };
  if (std::all_of(jobs.begin(), jobs.end(), mine)) return std::nullopt;
  return Column{"OWNER", {8, 2}, [here](const Summary& job) {
                  const std::string at = job.host.empty() ? "" : job.host.substr(0, 8);
                  return job.user + (at.empty() ? "" : job.host == here ? "@here" : "@" + at);
                }};
}

std::vector<Column> Columns(Context& context, const std::vector<Summary>& jobs,
                            const Options& options, Ledger& ledger) {
  const WallTime now = context.clock().Wall();
  const auto status = [&](const Summary& job) {
    const char* colour = job.state == JobState::kSucceeded ? "32"
                         : job.state == JobState::kFailed  ? "31"
                                                           : "36";
    return context.Style(colour, Name(job.state));
  };
  const auto duration = [now](const Summary& job) {
    const Duration ran = job.ended ? *job.ended - job.created : now - job.created;
    return HumanDuration(std::max(Duration{}, ran));
  };
  const auto age = [now](const Summary& job) {
    return HumanDuration(std::max(Duration{}, now - job.created));
  };
  std::vector<Column> columns = {
      {"JOB", {}, [](const Summary& job) { return job.id; }},
      {"NAME", {10, 0}, [](const Summary& job) { return job.name; }},
      {"STATUS", {}, status},
      {"ATTEMPT", {0, 5}, [](const Summary& job) { return std::to_string(job.attempts); }},
      {"NODES", {0, 6}, [](const Summary& job) { return std::to_string(job.num_nodes); }},
      {"AGE", {0, 1}, age},
      {"DURATION", {0, 4}, duration},
      {"WHERE", {0, 7}, [](const Summary& job) { return job.provider; }},
      {"REASON", {12, 0}, Reason},
      {"CHECKPOINT", {10, 3}, [](const Summary& job) { return job.newest_checkpoint; }}};
  if (const auto owner = Owner(context, jobs)) columns.insert(columns.begin() + 2, *owner);
  if (options.hyperparameters) {
    columns.push_back({"HYPERPARAMETERS", {12, 0}, [&ledger](const Summary& job) {
                         return Hyperparameters(ledger, job.id);
                       }});
  }
  return columns;
}

void PrintForPeople(Context& context, const std::vector<Summary>& jobs, const Options& options,
                    Ledger& ledger) {
  std::vector<std::vector<std::string>> rows(1 + jobs.size());
  std::vector<ColumnRule> rules;
  for (const Column& column : Columns(context, jobs, options, ledger)) {
    rules.push_back(column.rule);
    rows[0].push_back(column.head);
    for (size_t i = 0; i < jobs.size(); ++i) rows[i + 1].push_back(column.cell(jobs[i]));
  }
  const FittedTable table = FitTable(std::move(rows), std::move(rules), context.out_width());
  context.Print(table.text);
  if (!table.left_out.empty()) {
    context.Say("too narrow for " + Join(table.left_out, ", ") + ": stoker ls | cat has all");
  }
}

// What a pass saw that records do not hold until an attempt ends, by job id.
struct Live {
  std::string checkpoint;
  int64_t run_ms = 0;
  std::string trouble;  // that its nodes have now
};

std::string TroubleOf(const std::vector<ReportSeen>& reports) {
  std::set<std::string> all;
  for (const ReportSeen& seen : reports) {
    if (!seen.report.trouble.empty()) all.insert(Printable(seen.report.trouble));
  }
  return Join({all.begin(), all.end()}, "; ");
}

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
                    RunTime(pass->job, pass->reports, pass->store_now).ms,
                    IsFinal(pass->job.state) ? "" : TroubleOf(pass->reports)};
      },
      [&] { return context.clock().Mono() >= end; });
  return live;
}

Status Run(Context& context, const Options& options) {
  STOKER_ASSIGN(Ledger * ledger, context.ledger());
  const std::map<std::string, Live> live = HelpAlong(context);
  STOKER_ASSIGN(JobList list, ListJobs(*ledger));
  if (options.all) {
    // What has lost its marker is in no other list; a request for each thousand jobs finds it.
    const auto hidden = FindHidden(*ledger);
    if (!hidden.ok()) context.Say("looking for hidden jobs: " + hidden.status().ToString());
    if (hidden.ok() && !hidden->empty()) {
      context.Say("found again, though in no list: " + Join(*hidden, ", "));
      STOKER_ASSIGN(list, ListJobs(*ledger));
    }
  }
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
    for (const Summary& job : shown) {
      json line = ToJson(job);
      if (options.hyperparameters) line["hyperparameters"] = Hyperparameters(*ledger, job.id);
      text += (text.size() > 1 ? ",\n " : "") + line.dump();
    }
    const bool any_state = options.state.empty() && options.name.empty();
    for (const UnreadableJob& job : any_state ? list.unreadable : std::vector<UnreadableJob>()) {
      text += (text.size() > 1 ? ",\n " : "") + ToJson(job).dump();
    }
    context.Print(text + "]\n");
  } else if (shown.empty()) {
    context.Say("no jobs yet: stoker run -- python train.py");
  } else {
    PrintForPeople(context, shown, options, *ledger);
    for (const Summary& job : shown) {
      const auto seen = live.find(job.id);
      if (seen == live.end() || seen->second.trouble.empty()) continue;
      context.Say(job.id + ": " + seen->second.trouble);
    }
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
      "unless all are asked for. A terminal gets as many columns as fit. OWNER (user@here is "
      "this machine) appears where not all are yours. Also helps active jobs along.";
  verb.examples = {"stoker ls", "stoker ls --all --state Failed", "stoker ls --hyperparameters",
                   "stoker ls --json"};
  verb.options = {
      {"-a,--all", "All jobs, not only the newest", &options->all},
      {"--hyperparameters", "Also the hyperparameters", &options->hyperparameters},
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
