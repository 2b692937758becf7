// SPDX-License-Identifier: Apache-2.0

#include <chrono>
#include <map>
#include <thread>

#include "agent/flush_policy.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/terminal/context.h"
#include "cli/terminal/interrupts.h"
#include "cli/terminal/log_printer.h"
#include "cli/verb.h"
#include "client/job_watch.h"
#include "client/open/full_store.h"
#include "ledger/log/log_reader.h"
#include "ledger/paths.h"
#include "ledger/records.h"
#include "spec/parse.h"
#include "view/cut_off.h"

namespace stoker::cli {
namespace {

struct LogsOptions {
  std::string job = "-";
  bool follow = false;
  int node = -1;
  int attempt = 0;
  int tail = 0;
  std::string since;
  std::string stream;
  bool numbers = false;
  bool timestamps = false;
};

Result<LogFilter> Filter(Context& context, const LogsOptions& options) {
  LogFilter filter;
  if (options.node < -1 || options.attempt < 0 || options.tail < 0) {
    return Status(Code::kUsage, "--node, --attempt and --tail take no negative numbers",
                  "'--tail 100' starts about 100 lines before the end");
  }
  if (options.node >= 0) filter.rank = options.node;
  if (options.attempt > 0) filter.attempt = options.attempt;
  if (options.tail > 0) filter.tail = options.tail;
  if (!options.stream.empty()) {
    filter.stream = options.stream == "out"   ? LogStream::kOut
                    : options.stream == "err" ? LogStream::kErr
                                              : LogStream::kSystem;
  }
  if (options.since.empty()) return filter;
  if (const auto age = ParseDuration(options.since); age.ok()) {
    filter.since = context.clock().Wall() - *age;
    return filter;
  }
  const auto time = ParseRfc3339(options.since);
  if (!time.ok()) {
    return Status(Code::kUsage,
                  "--since '" + Printable(options.since) + "': neither an age nor a time",
                  "Write 90s, 30m, 8h or 2026-11-21T15:04:05Z");
  }
  filter.since = *time;
  return filter;
}

std::string JsonLines(const std::vector<LogRecord>& records) {
  std::string out;
  for (const LogRecord& record : records) {
    nlohmann::json line = {{"attempt", record.attempt},
                           {"node", record.rank},
                           {"line", record.line},
                           {"time", FormatRfc3339(record.time)},
                           {"stream", std::string(1, static_cast<char>(record.stream))},
                           {"text", record.text}};
    if (record.continues) line["continues"] = true;
    if (record.note) line["note"] = true;
    out += line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  }
  return out;
}

std::string Numbered(const std::vector<LogRecord>& records, bool timestamps) {
  std::string out;
  for (const LogRecord& record : records) {
    out += std::to_string(record.attempt) + "." + std::to_string(record.rank) + ":" +
           std::to_string(record.line) + "  " +
           (timestamps && !record.note ? FormatRfc3339(record.time) + "  " : "") +
           Printable(record.text) + "\n";
  }
  return out;
}

// Nothing will ever come of them.
Status CheckAsked(const Job& job, const LogsOptions& options) {
  if (options.node >= job.num_nodes) {
    return Status(Code::kUsage, "--node " + std::to_string(options.node) +
                                    ": the job has nodes 0 to " +
                                    std::to_string(job.num_nodes - 1));
  }
  const int newest = job.attempts.empty() ? 0 : job.attempts.back().number;
  if (options.attempt <= newest || (options.follow && !IsFinal(job.state))) return Status::Ok();
  const std::string had = newest == 0   ? "no attempt"
                          : newest == 1 ? "attempt 1 only"
                                        : "attempts 1 to " + std::to_string(newest);
  return Status(Code::kUsage,
                "--attempt " + std::to_string(options.attempt) + ": the job has had " + had);
}

// "": the job keeps its checkpoints where its owner said, or an attempt had one to begin from.
std::string NeverSaved(Ledger& ledger, const Job& job, int to) {
  bool interrupted = false;
  for (const Attempt& attempt : job.attempts) {
    if (attempt.number >= to) break;
    if (!attempt.newest_checkpoint.empty() || !attempt.restore.empty()) return "";
    interrupted = attempt.ending && (attempt.ending->reason == EndReason::kInterrupted ||
                                     attempt.ending->reason == EndReason::kMoved);
  }
  if (!interrupted) return "";
  const auto text = ReadSpec(ledger, job);
  const auto spec = text.ok() ? ParseStoredSpec(*text) : Result<JobSpec>(text.status());
  if (!spec.ok() || spec->checkpoints.path != CheckpointSpec().path) return "";
  return ": no checkpoint was saved in " + spec->checkpoints.path +
         "/ ('--checkpoints' names another folder)";
}

// How the attempts from `from` on ended and where attempt `to` began.
std::string BetweenAttempts(Ledger& ledger, const Job& job, int from, int to) {
  std::vector<std::string> parts;
  for (const Attempt& attempt : job.attempts) {
    const std::string name = "attempt " + std::to_string(attempt.number);
    if (attempt.number >= from && attempt.number < to && attempt.ending) {
      parts.push_back(name + " ended: " + std::string(Name(attempt.ending->reason)) + ": " +
                      attempt.ending->why);
    } else if (attempt.number == to) {
      parts.push_back(name + (attempt.restore.empty()
                                  ? " starts at the beginning" + NeverSaved(ledger, job, to)
                                  : " starts from checkpoint " + attempt.restore));
    }
  }
  return "---- " + Join(parts, "; ") + " ----";
}

// Prints what nodes have counted and nobody can find, and which never came to count their last.
void TellMissing(Context& context, const Job& job, const LogReader& reader, const LogFilter& filter,
                 const std::vector<ReportSeen>& reports, LogPrinter* printer) {
  if (filter.stream || filter.since) return;  // no count is of these
  std::map<std::pair<int, int>, LogReader::Counted> counted;
  for (const ReportSeen& seen : reports) {
    const NodeReport& report = seen.report;
    if (report.phase == NodePhase::kEnded && IsFinal(job.state)) {
      counted[{report.attempt, report.rank}] = {report.log_lines, true};
    }
  }
  for (const NodeReport* report : CutOff(job, reports)) {
    counted[{report->attempt, report->rank}] = {report->log_lines, false};
  }
  const auto notes = reader.MissingAtEnd(counted);
  if (notes.empty()) return;
  context.Print(context.json ? JsonLines(notes) : printer->Format(notes));
}

Status Run(Context& context, const LogsOptions& options) {
  const NameMeans means = options.follow ? NameMeans::kRunning : NameMeans::kNewest;
  STOKER_ASSIGN(const std::string job, context.ResolveJob(options.job, means));
  STOKER_ASSIGN(Ledger * ledger, context.ledger());
  STOKER_ASSIGN(Controller * controller, context.controller());
  STOKER_ASSIGN(const LogFilter filter, Filter(context, options));
  STOKER_ASSIGN(const auto reader, LogReader::Open(ledger->store(), job, filter));
  // Looking at a job is a chance to help it along; a failure of that is not a failure of this.
  const StoreTraits& traits = ledger->store().traits();
  client::JobWatch watch(*controller, context.clock(), traits, job);
  std::vector<ReportSeen> reports;
  const auto look = [&](Job* seen) {
    const auto pass = watch.Look();
    if (!pass.ok() || !*pass) return;
    reports = (*pass)->reports;
    if (seen != nullptr) *seen = (*pass)->job;
  };
  look(nullptr);
  STOKER_ASSIGN(JobRead read, ReadJob(*ledger, job));
  STOKER_TRY(CheckAsked(read.job, options));
  LogPrinter printer(context.out_is_terminal(), read.job.num_nodes > 1 && options.node < 0,
                     context.color(), options.timestamps);
  // The record that was read may be older than the lines: it is read again for this.
  printer.set_between([&](int from, int to) {
    auto now = ReadJob(*ledger, job);
    if (now.ok()) read.job = std::move(now->job);
    return BetweenAttempts(*ledger, read.job, from, to);
  });
  if (options.follow) CatchInterrupts();
  MonoTime passed = context.clock().Mono();
  MonoTime read_at = passed;
  MonoTime marked{-60'000};
  client::FullStoreTeller full;
  for (;;) {
    bool final = IsFinal(read.job.state);
    bool any = false;
    for (;;) {
      STOKER_ASSIGN(const auto records, reader->Next());
      if (records.empty()) break;
      any = true;
      read_at = context.clock().Mono();
      if (context.json || options.numbers) {
        context.Print(context.json ? JsonLines(records) : Numbered(records, options.timestamps));
      } else {
        PrintRaw(context, printer.Format(records));
      }
      if (Interrupted()) return Status::Ok();
    }
    if (!final) full.Tell(context, ledger->store());
    if (!options.follow || (final && !any) || Interrupted()) {
      TellMissing(context, read.job, *reader, filter, reports, &printer);
      return Status::Ok();
    }
    if (context.clock().Mono() - marked >= kFollowMark) {
      marked = context.clock().Mono();
      (void)ledger->store().Put(paths::Follow(job), "");
    }
    const Duration pause = FollowPause(traits, context.clock().Mono() - read_at);
    std::this_thread::sleep_for(std::chrono::milliseconds(pause.ms));
    // Lines are looked for more often than the job: a look at that costs several requests.
    if (context.clock().Mono() - passed < traits.poll) continue;
    passed = context.clock().Mono();
    look(&read.job);
  }
}

}  // namespace

Verb LogsVerb() {
  auto options = std::make_shared<LogsOptions>();
  Verb verb = VerbOf(options, Run);
  verb.name = "logs";
  verb.summary = "Print a job's output, or follow it";
  verb.description =
      "Prints what the program wrote, all attempts and nodes in order: while the job runs and "
      "long after it has ended, from any machine that can read the store.";
  verb.examples = {"stoker logs -f digits", "stoker logs - --node 1 --since 10m",
                   "stoker logs digits --attempt 2 --stream err"};
  verb.options = {{"JOB", "Which job ('-' = your last)", &options->job, ""},
                  {"-f,--follow", "Keep printing until the job has ended", &options->follow},
                  {"--node", "Only this node", &options->node, "RANK"},
                  {"--attempt", "Only this attempt", &options->attempt, "N"},
                  {"--since", "Only lines written since then: 90s, 30m, or a time", &options->since,
                   "AGE|TIME"},
                  {"--tail", "Start about N lines before the end", &options->tail, "N"},
                  {"--stream",
                   "Only this stream; 'system' is stoker itself and setup",
                   &options->stream,
                   "",
                   false,
                   {"out", "err", "system"}},
                  {"-n,--numbers", "Put attempt.node:line before each line", &options->numbers},
                  {"-t,--timestamps", "Put the time (UTC) before each line", &options->timestamps}};
  return verb;
}

}  // namespace stoker::cli
