// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <thread>

#include "base/glob.h"
#include "base/json.h"
#include "base/screen.h"
#include "base/text.h"
#include "base/utf8.h"
#include "cli/terminal/context.h"
#include "cli/terminal/interrupts.h"
#include "cli/terminal/table.h"
#include "cli/verb.h"
#include "client/job_watch.h"
#include "ledger/metrics/segments.h"
#include "ledger/records.h"
#include "view/metrics.h"

namespace stoker::cli {
namespace {

using metrics::CurveEntry;
struct Series {
  std::vector<CurveEntry> curve;
  std::string_view counts = "step";  // what its steps are: "step", "epoch", "point"
};
using Curves = std::map<std::string, Series>;

constexpr size_t kSpark = 24;

struct MetricsOptions {
  std::string job = "-";
  std::vector<std::string> names;
  int node = 0;
  bool csv = false;
  bool follow = false;
  bool redone = false;
};

// A star means slashes too: "*loss" finds "train/loss". What is asked for may be spelled as the
// table has it.
std::function<bool(const std::string&)> Wanted(const MetricsOptions& options) {
  if (options.names.empty()) return {};
  const auto flat = [](std::string text) {
    std::replace(text.begin(), text.end(), '/', '\x01');
    return text;
  };
  std::vector<Glob> globs;
  for (const std::string& name : options.names) globs.emplace_back(flat(name));
  return [globs, flat, names = options.names](const std::string& name) {
    const auto named = [&](const std::string& one) { return one == name || one == Spelled(name); };
    if (std::any_of(names.begin(), names.end(), named)) return true;
    return std::any_of(globs.begin(), globs.end(),
                       [&](const Glob& glob) { return glob.Matches(flat(name)); });
  };
}

Result<Curves> ReadCurves(Context& context, Ledger& ledger, const std::string& job,
                          const MetricsOptions& options) {
  STOKER_ASSIGN(RunMetrics run, ReadMetrics(ledger.store(), job, options.node, Wanted(options)));
  for (const std::string& trouble : run.troubles) context.Say(Printable(trouble));
  Curves curves;
  for (auto& [name, parts] : run.series) {
    Series& series = curves[name];
    for (const metrics::AttemptPart& part : parts) {
      if (part.entries.empty()) continue;
      series.counts = part.ordered ? "point" : part.by_epoch ? "epoch" : "step";
    }
    series.curve = metrics::MakeCurve(std::move(parts));
  }
  return curves;
}

// RFC 4180; what a terminal would take for more than text is not in it.
std::string CsvCell(const std::string& text) {
  const std::string plain = Spelled(text);
  if (plain.find_first_of(",\"") == plain.npos) return plain;
  std::string out = "\"";
  for (const char c : plain) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

void PrintCsv(Context& context, const Curves& curves, const MetricsOptions& options) {
  std::string text = "name,step,time,value,attempt,points,last_step,min,max,mean,redone,counts\n";
  for (const auto& [name, series] : curves) {
    const std::string cell = CsvCell(name);
    for (const CurveEntry& at : series.curve) {
      if (at.redone && !options.redone) continue;
      const metrics::Entry& e = at.entry;
      text += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{}\n", cell, e.first_step,
                          FormatRfc3339(e.first_time), e.last, at.attempt, e.count, e.last_step,
                          e.min, e.max, e.mean, at.redone ? 1 : 0, series.counts);
    }
    if (text.size() > (1 << 20)) context.Print(std::exchange(text, ""));
  }
  context.Print(text);
}

nlohmann::json EntryJson(const CurveEntry& at) {
  const metrics::Entry& e = at.entry;
  nlohmann::json out = {{"step", e.first_step},
                        {"time", FormatRfc3339(e.first_time)},
                        {"value", NumberJson(e.last)},
                        {"attempt", at.attempt}};
  if (at.redone) out["redone"] = true;
  if (e.count == 1) return out;
  out["points"] = e.count;
  out["last_step"] = e.last_step;
  out["min"] = NumberJson(e.min);
  out["min_step"] = e.min_step;
  out["max"] = NumberJson(e.max);
  out["max_step"] = e.max_step;
  out["mean"] = NumberJson(e.mean);
  out["nans"] = e.nans;
  return out;
}

void PrintJson(Context& context, const std::string& job, const Curves& curves,
               const MetricsOptions& options) {
  using nlohmann::json;
  json series = json::object();
  json counts = json::object();
  for (const auto& [name, one] : curves) {
    counts[name] = one.counts;
    json list = json::array();
    for (const CurveEntry& at : one.curve) {
      if (!at.redone || options.redone) list.push_back(EntryJson(at));
    }
    series[name] = std::move(list);
  }
  const json out = {{"job", job},
                    {"node", options.node},
                    {"counts", std::move(counts)},
                    {"series", std::move(series)}};
  context.Print(PrintableJson(out.dump(-1, ' ', false, json::error_handler_t::replace)) + "\n");
}

void PrintTable(Context& context, const Curves& curves) {
  std::vector<std::vector<std::string>> rows = {
      {"METRIC", "LAST", "STEP", "MIN", "AT", "MAX", "AT", "POINTS", "COURSE"}};
  // Where not all count the same, each says what it counts.
  const bool several = std::any_of(curves.begin(), curves.end(), [&](const auto& one) {
    return one.second.counts != curves.begin()->second.counts;
  });
  for (const auto& [name, series] : curves) {
    const metrics::Totals t = TotalsOf(series.curve);
    const std::string counts = several ? std::string(series.counts) + " " : "";
    rows.push_back({Spelled(name), ShortNumber(t.last), counts + std::to_string(t.last_step),
                    ShortNumber(t.min), std::to_string(t.min_step), ShortNumber(t.max),
                    std::to_string(t.max_step), std::to_string(t.count),
                    SparkLine(series.curve, kSpark)});
  }
  const std::vector<ColumnRule> rules = {{12, 0}, {},     {},     {0, 2}, {0, 3},
                                         {0, 2},  {0, 3}, {0, 4}, {0, 1}};
  context.Print(FitTable(std::move(rows), rules, context.out_width()).text);
}

// Points that have come since the last look, in the order of their times.
class Follower {
 public:
  std::string News(const Curves& curves) {
    std::vector<std::pair<int64_t, std::string>> lines;
    for (const auto& [name, series] : curves) {
      std::map<int, int64_t> of_attempt;
      for (const CurveEntry& at : series.curve) {
        int64_t& seen = of_attempt[at.attempt];
        seen += at.entry.count;
        if (seen <= seen_[{name, at.attempt}]) continue;
        lines.emplace_back(at.entry.last_time.ms,
                           fmt::format("{} {}  {} {}\n", series.counts, at.entry.last_step,
                                       Spelled(name), ShortNumber(at.entry.last)));
      }
      for (const auto& [attempt, count] : of_attempt) seen_[{name, attempt}] = count;
    }
    std::stable_sort(lines.begin(), lines.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    std::string text;
    for (const auto& [time, line] : lines) text += line;
    return text;
  }

 private:
  std::map<std::pair<std::string, int>, int64_t> seen_;
};

Status Follow(Context& context, const std::string& job, const MetricsOptions& options) {
  STOKER_ASSIGN(Ledger * ledger, context.ledger());
  STOKER_ASSIGN(Controller * controller, context.controller());
  const StoreTraits& traits = ledger->store().traits();
  client::JobWatch watch(*controller, context.clock(), traits, job);
  Follower follower;
  CatchInterrupts();
  for (;;) {
    const MonoTime begun = context.clock().Mono();
    STOKER_ASSIGN(const JobRead read, ReadJob(*ledger, job));
    const bool final = IsFinal(read.job.state);
    STOKER_ASSIGN(const Curves curves, ReadCurves(context, *ledger, job, options));
    context.Print(follower.News(curves));
    if (final || Interrupted()) return Status::Ok();
    (void)watch.Look();
    // What a look at a long run costs is not spent on it again and again.
    const Duration pause = std::max(traits.poll, (context.clock().Mono() - begun) * 5);
    std::this_thread::sleep_for(std::chrono::milliseconds(pause.ms));
  }
}

Status Run(Context& context, const MetricsOptions& options) {
  if (options.node < 0 || (options.csv && context.json) ||
      (options.follow && (options.csv || context.json))) {
    return Status(Code::kUsage,
                  "--csv, --json and --follow exclude one another; --node is 0 or more",
                  "Choose one of them");
  }
  STOKER_ASSIGN(const std::string job, context.ResolveJob(options.job));
  if (options.follow) return Follow(context, job, options);
  STOKER_ASSIGN(Ledger * ledger, context.ledger());
  STOKER_ASSIGN(const Curves curves, ReadCurves(context, *ledger, job, options));
  if (options.csv) {
    PrintCsv(context, curves, options);
  } else if (context.json) {
    PrintJson(context, job, curves, options);
  } else if (curves.empty()) {
    context.Say(options.names.empty()
                    ? "no metrics of node " + std::to_string(options.node) +
                          " are known. 'docs/metrics.md' says what is recognised; anything may "
                          "append {\"step\": 3, \"loss\": 0.1} to the file $STOKER_METRICS"
                    : "no metric has such a name; 'stoker metrics " + job + "' lists them");
  } else {
    PrintTable(context, curves);
  }
  return Status::Ok();
}

}  // namespace

Verb MetricsVerb() {
  auto options = std::make_shared<MetricsOptions>();
  Verb verb = VerbOf(options, Run);
  verb.name = "metrics";
  verb.summary = "Show what a run learns: its metrics, as a table with their course";
  verb.description =
      "Shows the metrics that were found while the job ran: in TensorBoard's event files, "
      "metrics.csv, metrics.jsonl, the log, and the file $STOKER_METRICS. All attempts are one "
      "curve: where a later one begins it wins, and what it did again is left out, unless "
      "--redone is given. A name may have * and ?.";
  verb.examples = {"stoker metrics digits", "stoker metrics - 'val*' --csv > val.csv",
                   "stoker metrics digits loss --follow"};
  verb.options = {
      {"JOB", "Which job ('-' = your last)", &options->job, ""},
      {"NAME", "Only these metrics", &options->names, ""},
      {"--csv", "Each point on a line, separated by commas", &options->csv},
      {"-f,--follow", "Print points as they come, until the job has ended", &options->follow},
      {"--node", "Of this node; 0 if not given", &options->node, "RANK"},
      {"--redone", "Also what a later attempt did again", &options->redone}};
  return verb;
}

}  // namespace stoker::cli
