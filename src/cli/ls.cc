// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <set>

#include "base/json.h"
#include "base/text.h"
#include "cli/terminal/context.h"
#include "cli/terminal/local_time.h"
#include "cli/terminal/table.h"
#include "cli/verb.h"
#include "cli/words/job_fields.h"
#include "cli/words/ls_columns.h"
#include "cli/words/story.h"
#include "client/clear/removals.h"
#include "client/open/full_store.h"
#include "client/open/told_notes.h"
#include "controller/all_jobs.h"
#include "ledger/index.h"
#include "view/job_row.h"

namespace stoker::cli {
namespace {

using nlohmann::json;

// Looking is also looking after, but a list must come at once: passes get this long in all.
constexpr Duration kPassBudget = Duration::Ms(300);
constexpr size_t kShown = 20;

struct LsOptions {
  bool all = false;
  bool ids = false;
  bool hyperparameters = false;
  std::string state;
  std::string name;
  std::vector<std::string> tags;
  std::string columns;
  std::string sort;
  std::string where;
  bool reverse = false;
};

bool Wanted(const LsOptions& options, const Summary& job) {
  if (!options.name.empty() && job.name != options.name) return false;
  for (const std::string& tag : options.tags) {
    if (std::find(TagsOf(job).begin(), TagsOf(job).end(), tag) == TagsOf(job).end()) return false;
  }
  return options.state.empty() || Name(job.state) == options.state;
}

// Of a job whose record cannot be read there is only its id; what is wrong stands where all else
// would.
json ToJson(const UnreadableJob& job) {
  return {{"id", job.id},
          {"state", nullptr},
          {"unreadable", {{"code", CodeName(job.why.code())}, {"message", job.why.message()}}}};
}

Status PrintForPeople(Context& context, const std::vector<Summary>& jobs, const LsOptions& options,
                      Ledger& ledger) {
  std::vector<LsColumn> columns;
  if (options.columns.empty()) {
    columns = UsualColumns(context, jobs, options.hyperparameters, ledger);
  } else {
    STOKER_ASSIGN(columns, NamedColumns(context, jobs, options.columns, ledger));
  }
  std::vector<std::vector<std::string>> rows(1 + jobs.size());
  std::vector<ColumnRule> rules;
  for (const LsColumn& column : columns) {
    rules.push_back(column.rule);
    rows[0].push_back(column.head);
    for (size_t i = 0; i < jobs.size(); ++i) {
      rows[i + 1].reserve(columns.size());
      rows[i + 1].push_back(column.cell(jobs[i]));
    }
  }
  const FittedTable table = FitTable(std::move(rows), std::move(rules), context.out_width());
  context.Print(table.text);
  if (!table.left_out.empty()) {
    context.Say("too narrow for " + Join(table.left_out, ", ") + ": 'stoker ls | cat' shows all");
  }
  return Status::Ok();
}

// What a pass saw that records do not hold until an attempt ends, by job id.
struct Live {
  std::string checkpoint;
  int64_t run_ms = 0;
  std::string trouble;                 // that its nodes have now, and what they do besides running
  std::string doing;                   // NodeReport::doing
  std::vector<std::string> queued;     // its machines that wait for their turn
  std::optional<WallTime> kept_until;  // of those that are kept though it has failed
};

std::string TroubleOf(const PassResult& pass) {
  std::set<std::string> all;
  for (const ReportSeen& seen : pass.reports) {
    if (!seen.report.trouble.empty()) all.insert(Printable(seen.report.trouble));
  }
  std::vector<std::string> said = Queued(pass.job, pass.machines);
  for (const Attempt& attempt : pass.job.attempts) {
    const auto since = SavingFor(attempt, pass.reports, pass.store_now);
    if (since) said.push_back(SavingText(*since));
  }
  said.insert(said.end(), all.begin(), all.end());
  return Join(said, "; ");
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
        live[id] = {
            NewestCheckpoint(pass->job, pass->reports),
            RunTime(pass->job, pass->reports, pass->store_now).ms,
            IsFinal(pass->job.state) ? KeptMachines(pass->job, pass->store_now) : TroubleOf(*pass),
            Doing(pass->job, pass->reports),
            Queued(pass->job, pass->machines),
            KeptUntil(pass->job, pass->store_now)};
      },
      [&](const auto&) { return context.clock().Mono() >= end; });
  return live;
}

// What a record holds of it is older.
void Update(const Live& live, Summary* job) {
  job->newest_checkpoint = live.checkpoint;
  job->run_ms = live.run_ms;
  job->doing = live.doing;
}

void AddLive(const Live& live, json* line) {
  (*line)["doing"] = live.doing.empty() ? json(nullptr) : json(live.doing);
  (*line)["queued"] = live.queued;
  (*line)["kept_until"] = live.kept_until ? json(FormatRfc3339(*live.kept_until)) : json(nullptr);
}

void SayTroubles(Context& context, const std::vector<Summary>& shown,
                 const std::map<std::string, Live>& live, Ledger& ledger) {
  bool any_live = false;
  client::ToldNotes told(context, ledger.id());
  for (const Summary& job : shown) {
    any_live |= !IsFinal(job.state);
    const auto seen = live.find(job.id);
    const bool now = seen != live.end() && !seen->second.trouble.empty();
    if (now) context.Say(job.id + ": " + seen->second.trouble);
    if (now || job.remark.empty() || told.Has(job.id)) continue;
    context.Say(job.id + ": " + job.remark);
    told.Add(job.id);
  }
  told.Write();
  if (any_live) client::FullStoreTeller().Tell(context, ledger.store());
}

// In one line: a list must not grow by what goes from it.
void SayWhatGoes(Context& context, const std::vector<Summary>& shown,
                 const std::map<std::string, WallTime>& goes) {
  constexpr size_t kMostNamed = 5;
  std::vector<std::string> named;
  WallTime first;
  size_t more = 0;
  for (const Summary& job : shown) {
    const auto found = goes.find(job.id);
    if (found == goes.end()) continue;
    first = first.ms == 0 ? found->second : std::min(first, found->second);
    if (named.size() < kMostNamed) {
      named.push_back(job.id);
    } else {
      ++more;
    }
  }
  if (named.empty()) return;
  context.Say("to be removed from " + LocalTime(first) + " on: " + Join(named, ", ") +
              (more > 0 ? " and " + std::to_string(more) + " more" : "") +
              "; 'stoker retry JOB' or 'stoker run --from JOB' keeps one");
}

// Whether more is asked of jobs than their records say.
bool AsksForMetrics(const LsOptions& options, const std::vector<WhereTerm>& terms) {
  return !options.columns.empty() || (!options.sort.empty() && !JobFields::IsFact(options.sort)) ||
         std::any_of(terms.begin(), terms.end(),
                     [](const WhereTerm& term) { return !JobFields::IsFact(term.name); });
}

// What runs has no line in the index yet.
void AddMetrics(Context& context, Ledger& ledger, std::vector<Summary>* jobs) {
  for (Summary& job : *jobs) {
    if (IsFinal(job.state) || !job.started) continue;
    const auto totals = ReadMetricTotals(ledger.store(), job.id);
    if (totals.ok()) job.metrics = SummaryMetricsOf(*totals);
    if (!totals.ok()) context.Say(job.id + ": metrics: " + totals.status().ToString());
  }
}

// A name that no job knows is likely a slip: all would be left out, or in no order, without a word.
void SayUnknown(Context& context, const std::string& option, const std::string& name,
                const std::vector<Summary>& jobs, JobFields& fields) {
  const auto knows = [&](const Summary& job) { return fields.Get(job, name).has_value(); };
  if (jobs.empty() || JobFields::IsFact(name)) return;
  if (std::none_of(jobs.begin(), jobs.end(), knows)) {
    context.Say(option + ": no job here has '" + Printable(name) + "'");
  }
}

// The jobs that --where means, in the order of --sort.
Status Arrange(Context& context, const LsOptions& options, Ledger& ledger,
               std::vector<Summary>* jobs) {
  std::vector<WhereTerm> terms;
  if (!options.where.empty()) {
    STOKER_ASSIGN(terms, ParseWhere(options.where));
  }
  if (AsksForMetrics(options, terms)) AddMetrics(context, ledger, jobs);
  JobFields fields(ledger, context.clock().Wall());
  for (const WhereTerm& term : terms) fields.Mean(term.name, *jobs);
  fields.Mean(options.sort, *jobs);
  for (const WhereTerm& term : terms) SayUnknown(context, "--where", term.name, *jobs, fields);
  if (!options.sort.empty()) SayUnknown(context, "--sort", options.sort, *jobs, fields);
  std::erase_if(*jobs, [&](const Summary& job) {
    return !std::all_of(terms.begin(), terms.end(), [&](const WhereTerm& term) {
      return Holds(term, fields.Get(job, term.name));
    });
  });
  if (!options.sort.empty()) SortBy(jobs, options.sort, options.reverse, fields);
  return Status::Ok();
}

// What is damaged is said.
Result<JobList> KnownJobs(Context& context, const LsOptions& options, Ledger& ledger) {
  JobList list;
  bool complete = false;
  if (options.all) {
    // What has lost its marker is in no other list; a request for each thousand jobs finds it.
    const auto hidden = FindHidden(ledger, &list);
    if (!hidden.ok())
      context.Say("while looking for jobs that are in no list: " + hidden.status().ToString());
    complete = hidden.ok() && hidden->empty();
    if (hidden.ok() && !complete)
      context.Say("found jobs that were in no list: " + Join(*hidden, ", "));
  }
  if (!complete) {
    STOKER_ASSIGN(list, ListJobs(ledger));
  }
  for (const std::string& warning : list.warnings) context.Say(warning);
  return list;
}

Status SayNoStore(Context& context, const Status& none) {
  if (context.json) context.Print("[]\n");
  context.Say("no jobs yet: " + none.message() + ". To make it: stoker run -- python3 train.py");
  return Status::Ok();
}

Status Run(Context& context, const LsOptions& options) {
  if (!options.columns.empty() && (context.json || options.ids || options.hyperparameters)) {
    return Status(Code::kUsage, "--columns goes with none of --json, --ids, --hyperparameters",
                  "--json has all that the columns show; --columns takes hyperparameters by name");
  }
  const auto opened = context.ledger();
  if (context.no_store_yet()) return SayNoStore(context, opened.status());
  STOKER_ASSIGN(Ledger * ledger, opened);
  const std::map<std::string, Live> live = HelpAlong(context);
  STOKER_ASSIGN(JobList list, KnownJobs(context, options, *ledger));
  const bool any_job = !list.jobs.empty();
  const auto goes = options.ids ? std::map<std::string, WallTime>() : client::WhatGoes(context);
  std::erase_if(list.jobs, [&](const Summary& job) { return !Wanted(options, job); });
  STOKER_TRY(Arrange(context, options, *ledger, &list.jobs));
  // In place: ten thousand jobs are megabytes.
  std::vector<Summary>& shown = list.jobs;
  size_t kept = 0;
  const size_t hidden = std::erase_if(shown, [&](const Summary& job) {
    const bool keep = options.all || context.json || !IsFinal(job.state) || kept < kShown;
    kept += keep ? 1 : 0;
    return !keep;
  });
  for (Summary& job : shown) {
    if (const auto seen = live.find(job.id); seen != live.end()) Update(seen->second, &job);
  }
  if (options.ids) {
    std::string text;
    for (const Summary& job : shown)
      text += job.id + "\n" + (job.name.empty() ? "" : job.name + "\n");
    context.Print(text);
  } else if (context.json) {
    std::string text = "[";
    for (const Summary& job : shown) {
      json line = SummaryJson(job);
      const auto seen = live.find(job.id);
      AddLive(seen != live.end() ? seen->second : Live(), &line);
      const auto when = goes.find(job.id);
      line["goes"] = when != goes.end() ? json(FormatRfc3339(when->second)) : json(nullptr);
      if (options.hyperparameters)
        line["hyperparameters"] = HyperparametersOf(*ledger, job.id, SIZE_MAX);
      text += (text.size() > 1 ? ",\n " : "") + line.dump();
    }
    const bool any_state = options.state.empty() && options.name.empty() && options.tags.empty() &&
                           options.where.empty();
    for (const UnreadableJob& job : any_state ? list.unreadable : std::vector<UnreadableJob>()) {
      text += (text.size() > 1 ? ",\n " : "") + ToJson(job).dump();
    }
    context.Print(text + "]\n");
  } else if (shown.empty() && any_job) {
    context.Say("no job is like that; 'stoker ls --all' lists them all");
  } else if (shown.empty() && !list.unreadable.empty()) {
    // They have been named above.
  } else if (shown.empty()) {
    context.Say("no jobs yet. To run one: stoker run -- python3 train.py");
  } else {
    STOKER_TRY(PrintForPeople(context, shown, options, *ledger));
    SayTroubles(context, shown, live, *ledger);
    SayWhatGoes(context, shown, goes);
    const char* which = options.sort.empty() ? " older" : " more";
    if (hidden > 0) context.Say(std::to_string(hidden) + which + " jobs: stoker ls --all");
  }
  return Status::Ok();
}

}  // namespace

Verb LsVerb() {
  auto options = std::make_shared<LsOptions>();
  Verb verb = VerbOf(options, Run);
  verb.name = "ls";
  verb.summary = "List jobs, newest first";
  verb.description =
      "Lists jobs, newest first: what each is doing (installing packages, setup, restoring, "
      "uploading) or how it ended, where, and since when. What there is to say of an ended job "
      "stands below once, the first time that it is listed. "
      "Shows the jobs that run and the newest of the others; --all shows every job. On a narrow "
      "terminal some columns are left out. OWNER appears when some jobs are not yours or come "
      "from another machine ('user@here' is this one), TYPE, INSTANCE (of node 0; at Google its "
      "number), TAGS and NOTE when some job has one. "
      "--columns takes job, name, status, "
      "attempt, nodes, age, duration, where, type, instance, reason, checkpoint, user, host, "
      "submitted, ended, "
      "ran (time of the program), from (the job it goes on from), command, tags, note, and "
      "hyperparameters and metrics "
      "by "
      "name: the last value, or min.NAME and max.NAME. --sort and --where take the same names, "
      "the lowest first or, with --reverse, the highest; terms of --where are joined by 'and'. "
      "Like every command, it also moves running jobs along.";
  verb.examples = {"stoker ls",
                   "stoker ls --all --state Failed",
                   "stoker ls --hyperparameters",
                   "stoker ls --columns name,status,lr,duration,user",
                   "stoker ls --where 'lr<0.1 and state=Succeeded' --sort val_loss",
                   "stoker ls --tag best --columns name,command,tags,note",
                   "stoker ls --json"};
  verb.options = {
      {"-a,--all", "Every job, not only the newest", &options->all},
      {"--columns", "Show these columns, in this order", &options->columns, "A,B,C"},
      {"--hyperparameters", "Show the hyperparameters too", &options->hyperparameters},
      {"--ids", "Print only ids and names, one to a line", &options->ids},
      {"--name", "Only jobs with this name", &options->name, "NAME"},
      {"--tag", "Only jobs with this tag; again: with all of them", &options->tags, "TAG"},
      {"--sort", "Order by this instead of by age", &options->sort, "NAME"},
      {"--reverse", "With --sort: the highest first", &options->reverse},
      {"--where", "Only jobs of which this is true", &options->where, "CONDITION"},
      {"--state",
       "Only jobs in this state",
       &options->state,
       "",
       false,
       {"Pending", "Waiting", "Running", "Stopping", "Succeeded", "Failed", "Cancelled"}}};
  return verb;
}

}  // namespace stoker::cli
