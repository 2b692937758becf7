// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "base/glob.h"
#include "base/json.h"
#include "base/screen.h"
#include "base/text.h"
#include "cli/terminal/context.h"
#include "cli/terminal/table.h"
#include "cli/verb.h"
#include "cli/words/compare_table.h"
#include "ledger/index.h"
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

constexpr size_t kMostColumns = 120;  // however wide the terminal is

Result<std::vector<std::string>> Chosen(Context& context, Ledger& ledger,
                                        const CompareOptions& options) {
  std::vector<std::string> ids;
  for (const std::string& word : options.jobs) {
    STOKER_ASSIGN(const std::string id, context.ResolveJob(word));
    if (std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(id);
  }
  if (options.name.empty() && options.last == 0) return ids;
  STOKER_ASSIGN(const JobList list, ListJobs(ledger));
  const Glob glob(options.name.empty() ? "*" : options.name);
  int left = options.last > 0 ? options.last : static_cast<int>(kMostJobs);
  for (const Summary& job : list.jobs) {
    if (left == 0) break;
    if (!glob.Matches(job.name)) continue;
    if (std::find(ids.begin(), ids.end(), job.id) == ids.end()) ids.push_back(job.id);
    --left;
  }
  return ids;
}

// Lines of at most `width` columns, those that go on moved in, broken at spaces alone.
std::string Folded(const std::string& text, size_t width) {
  std::string out;
  for (const std::string& line : Split(text, '\n')) {
    std::string now;
    for (const std::string& word : Split(line, ' ')) {
      const bool fits = DisplayWidth(now) + 1 + DisplayWidth(word) <= width;
      if (!now.empty() && !fits) out += std::exchange(now, "   ") + "\n";
      now += word + " ";
    }
    now.erase(now.find_last_not_of(' ') + 1);
    if (!now.empty()) out += now + "\n";
  }
  return out;
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
  // Of many, it would be columns without end.
  Status trouble;
  for (Compared& job : jobs) {
    if (context.json || jobs.size() <= kSideBySide) ReadRanOf(*ledger, &job, &trouble);
  }
  if (!trouble.ok()) context.Say("what they ran with: " + trouble.ToString());
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
    const size_t width = std::min(kMostColumns, context.out_width());
    context.Print(CompareTable(jobs, best, {options.all, width}));
    if (best) context.Print("\n" + Folded(BestText(*best, runs), width));
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
  Verb verb = VerbOf(options, Run);
  verb.name = "compare";
  verb.summary = "Say in what jobs differ, and what came of it";
  verb.description =
      "Compares jobs: what differs of hyperparameters, code, environment, machine, metrics and "
      "results, and, of up to three, of Python, packages, driver and variables. Up to three jobs "
      "are columns; more are rows, the best first. At the end, which "
      "was the best, and what each hyperparameter came to. --by says by which metric: an accuracy "
      "is best at its greatest, anything else at its least; min.METRIC and max.METRIC say so.";
  verb.examples = {"stoker compare digits digits2", "stoker compare --name 'digits*' --last 5",
                   "stoker compare --name sweep --by max.val_acc"};
  verb.options = {{"JOB", "Which jobs", &options->jobs, ""},
                  {"--name", "The jobs with names like this", &options->name, "GLOB"},
                  {"--last", "At most so many of them, the newest", &options->last, "N"},
                  {"--by", "Which is best, by this metric", &options->by, "METRIC"},
                  {"--all", "Also what is the same in all of them", &options->all}};
  return verb;
}

}  // namespace stoker::cli
