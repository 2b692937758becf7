// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "base/json.h"
#include "base/screen.h"
#include "base/text.h"
#include "base/utf8.h"
#include "cli/context.h"
#include "cli/table.h"
#include "cli/verb.h"
#include "ledger/index.h"
#include "pack/glob.h"
#include "view/best_run.h"
#include "view/compared.h"
#include "view/metrics.h"

namespace stoker::cli {
namespace {

using nlohmann::json;

constexpr size_t kMostJobs = 200;

struct CompareOptions {
  std::vector<std::string> jobs;
  std::string name;
  std::string by;
  int last = 0;
  bool all = false;
};

using Section = Compared::Section;

constexpr size_t kLongest = 60;  // characters of a text in the table

Result<std::vector<std::string>> Chosen(Context& context, Ledger& ledger,
                                        const CompareOptions& options) {
  std::vector<std::string> ids;
  for (const std::string& word : options.jobs) {
    STOKER_ASSIGN(ids.emplace_back(), context.ResolveJob(word));
  }
  if (options.name.empty() && options.last == 0) return ids;
  STOKER_ASSIGN(const JobList list, ListJobs(ledger));
  const pack::Glob glob(options.name.empty() ? "*" : options.name);
  int left = options.last > 0 ? options.last : static_cast<int>(kMostJobs);
  for (const Summary& job : list.jobs) {
    if (left == 0) break;
    if (!glob.Matches(job.name)) continue;
    if (std::find(ids.begin(), ids.end(), job.id) == ids.end()) ids.push_back(job.id);
    --left;
  }
  return ids;
}

// The rows of a section in which the jobs differ, or all.
std::vector<std::vector<std::string>> Rows(const std::vector<Compared>& jobs,
                                           const std::function<const Section&(const Compared&)>& of,
                                           bool all) {
  std::set<std::string> names;
  for (const Compared& job : jobs) {
    for (const auto& [name, text] : of(job)) names.insert(name);
  }
  std::vector<std::vector<std::string>> rows;
  for (const std::string& name : names) {
    std::vector<std::string> row = {Spelled(name)};
    std::set<std::string> values;
    for (const Compared& job : jobs) {
      const auto found = of(job).find(name);
      row.push_back(found == of(job).end() ? "" : Printable(CutText(found->second, kLongest)));
      values.insert(found == of(job).end() ? "" : found->second);
    }
    if (all || values.size() > 1) rows.push_back(std::move(row));
  }
  return rows;
}

Section MetricTexts(const Compared& job) {
  Section out;
  for (const auto& [name, of] : job.metrics) {
    out[name] = ShortNumber(of.last);
    if (of.count > 1) {
      out[name] += " (" + ShortNumber(of.min) + " to " + ShortNumber(of.max) + ")";
    }
  }
  return out;
}

void Print(Context& context, const std::vector<Compared>& jobs, bool all) {
  std::vector<std::vector<std::string>> rows = {{""}};
  for (const Compared& job : jobs) rows[0].push_back(job.id);
  const auto add = [&](const std::string& title,
                       const std::function<const Section&(const Compared&)>& of, bool whole) {
    const auto found = Rows(jobs, of, whole);
    if (found.empty()) return;
    rows.push_back({title});
    rows.back().resize(jobs.size() + 1);
    for (const auto& row : found) {
      rows.push_back(row);
      rows.back()[0] = "  " + row[0];
    }
  };
  std::map<const Compared*, Section> metrics;
  for (const Compared& job : jobs) metrics[&job] = MetricTexts(job);
  std::map<const Compared*, Section> names;
  for (const Compared& job : jobs) names[&job] = {{"name", job.name}};
  add(
      "HYPERPARAMETERS", [](const Compared& job) -> const Section& { return job.hyperparameters; },
      all);
  add(
      "CODE", [](const Compared& job) -> const Section& { return job.code; }, all);
  add(
      "ENVIRONMENT", [](const Compared& job) -> const Section& { return job.environment; }, all);
  add(
      "MACHINE", [](const Compared& job) -> const Section& { return job.machine; }, all);
  add(
      "METRICS (last, least to greatest)",
      [&](const Compared& job) -> const Section& { return metrics[&job]; }, true);
  add(
      "JOB", [&](const Compared& job) -> const Section& { return names[&job]; }, true);
  add(
      "RESULT", [](const Compared& job) -> const Section& { return job.result; }, true);
  std::vector<ColumnRule> rules(jobs.size() + 1, ColumnRule{10, 0});
  context.Print(FitTable(std::move(rows), rules, context.out_width()).text);
}

// What each setting came to, the one that matters most first.
json ApartJson(const BestRun& best) {
  json out = json::array();
  for (const BestRun::Setting& setting : best.settings) {
    json groups = json::array();
    for (const BestRun::Group& group : setting.groups) {
      groups.push_back(
          {{"value", group.value}, {"median", NumberJson(group.median)}, {"runs", group.runs}});
    }
    out.push_back({{"name", setting.name}, {"value", setting.value}, {"groups", groups}});
  }
  return out;
}

Status Run(Context& context, const CompareOptions& options) {
  if (options.last < 0) return Status(Code::kUsage, "--last takes no negative number", "--last 20");
  STOKER_ASSIGN(Ledger * ledger, context.ledger());
  STOKER_ASSIGN(const std::vector<std::string> ids, Chosen(context, *ledger, options));
  if (ids.size() < 2) {
    return Status(Code::kUsage, "two jobs or more are needed to compare",
                  "stoker compare JOB JOB…, or --name 'digits*', or --last 20");
  }
  if (ids.size() > kMostJobs) {
    return Status(Code::kUsage, "more than " + std::to_string(kMostJobs) + " jobs", "--last 20");
  }
  std::vector<Compared> jobs;
  for (const std::string& id : ids) {
    STOKER_ASSIGN(jobs.emplace_back(), ReadCompared(*ledger, id, context.clock().Wall()));
  }
  std::vector<RunOutcome> runs;
  for (const Compared& job : jobs) runs.push_back({job.id, job.hyperparameters, job.metrics});
  const auto best = FindBest(runs, options.by);
  if (!best && !options.by.empty()) {
    return Status(Code::kUsage,
                  "--by: fewer than two of these jobs have the metric '" + Printable(options.by) +
                      "', with a value that is finite",
                  "Without --by, all that they have is listed");
  }
  if (!context.json) {
    Print(context, jobs, options.all);
    if (best) context.Print("\n" + BestText(*best, runs));
    return Status::Ok();
  }
  json out = json::array();
  for (const Compared& job : jobs) {
    out.push_back(ComparedJson(job));
    if (best && &job == &jobs[best->index]) {
      out.back()["best"] = {{"metric", best->metric},
                            {"greatest", best->greatest},
                            {"value", best->value},
                            {"step", best->step},
                            {"apart", ApartJson(*best)}};
    }
  }
  context.Print(PrintableJson(out.dump(-1, ' ', false, json::error_handler_t::replace)) + "\n");
  return Status::Ok();
}

}  // namespace

Verb CompareVerb() {
  auto options = std::make_shared<CompareOptions>();
  Verb verb;
  verb.name = "compare";
  verb.summary = "Say in what jobs differ, and what came of it";
  verb.description =
      "Compares jobs: first what differs of hyperparameters, code, environment and machine, then "
      "the last, least and greatest value of each metric, and how long each ran. At the end, which "
      "was the best, and what each hyperparameter came to. --by says by which metric: an accuracy "
      "is best at its greatest, anything else at its least; min.METRIC and max.METRIC say so.";
  verb.examples = {"stoker compare digits digits2", "stoker compare --name 'digits*' --last 5",
                   "stoker compare --name sweep --by max.val_acc"};
  verb.options = {{"JOB", "Which jobs", &options->jobs, ""},
                  {"--name", "The jobs with names like this", &options->name, "GLOB"},
                  {"--last", "At most so many of them, the newest", &options->last, "N"},
                  {"--by", "Which is best, by this metric", &options->by, "METRIC"},
                  {"--all", "Also what is the same in all of them", &options->all}};
  verb.run = [options](Context& context) { return Run(context, *options); };
  verb.options_owner = options;
  return verb;
}

}  // namespace stoker::cli
