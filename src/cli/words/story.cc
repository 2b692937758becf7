// SPDX-License-Identifier: Apache-2.0
#include "cli/words/story.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "base/utf8.h"
#include "cli/terminal/local_time.h"
#include "cli/terminal/table.h"
#include "client/submit/named_here.h"
#include "policy/placement.h"
#include "spec/print.h"
#include "spec/text/arguments.h"
#include "view/cut_off.h"
#include "view/lineage.h"
#include "view/missing_file.h"

namespace stoker::cli {
namespace {

std::string NeverCame(const std::string& output) {
  return "  output '" + Printable(output) + "' never came\n";
}

std::string NotKept(const std::string& indent, const Attempt& attempt) {
  if (attempt.unkept == 0) return "";
  return indent + "not kept: " + UnkeptText(attempt.unkept, attempt.unkept_in) + "\n";
}

std::string AttemptText(const Job& job, const Attempt& attempt,
                        const std::vector<ReportSeen>& reports, WallTime now) {
  std::string state = attempt.state == AttemptState::kEnded && attempt.ending
                          ? EndingText(*attempt.ending)
                          : std::string(Name(attempt.state));
  if (attempt.state == AttemptState::kDraining && attempt.drain_until) {
    state += " until " + LocalTime(*attempt.drain_until);
  }
  if (const auto since = SavingFor(attempt, reports, now)) state += ", " + SavingText(*since);
  std::string newest = attempt.newest_checkpoint;
  for (const ReportSeen& seen : reports) {
    if (seen.report.attempt != attempt.number) continue;
    if (newest.empty()) newest = seen.report.newest_checkpoint;
  }
  std::string text = "  attempt " + std::to_string(attempt.number) + "  " + state + ", ran " +
                     HumanDuration(Duration{RunMs(attempt, reports, now)}) + ", from " +
                     (attempt.restore.empty() ? "the start" : SayCheckpoint(attempt.restore));
  if (!newest.empty() && newest != attempt.restore) text += ", newest checkpoint " + newest;
  if (!attempt.as_left.empty()) {
    text += ", kept what it left as " + attempt.as_left;
    if (attempt.left_newer_ms > 0) {
      text += " (" + HumanDuration(Duration{attempt.left_newer_ms}) + " newer)";
    }
  }
  text += "\n      opened " + LocalTime(attempt.opened);
  if (attempt.ended) text += ", ended " + LocalTime(*attempt.ended);
  text += "\n";
  if (attempt.ending && !attempt.ending->why.empty()) {
    text += "      " + Printable(attempt.ending->why) + "\n";
    const std::string why = SteppedOver(job, attempt);
    if (!why.empty()) text += "      " + why + "\n";
  }
  for (const std::string& output : attempt.missing_outputs) text += "    " + NeverCame(output);
  return text + NotKept("      ", attempt);
}

std::string MemoryText(const NodeReport& report, bool over) {
  const std::string peak = "peak memory " + HumanSize(report.peak_resident_bytes);
  if (report.phase == NodePhase::kEnded || over) return ", " + peak;
  return ", memory " + HumanSize(report.resident_bytes) + ", " + peak + ", " +
         HumanSize(report.disk_bytes) + " of the machine's disk used";
}

constexpr char kCutOff[] =
    "it was gone before its last word; what it had not saved by then, its last lines too, is lost";

std::string NodeText(const StoryInput& input, const Attempt& attempt, int rank) {
  const Job& job = input.job;
  const int number = attempt.launches[static_cast<size_t>(rank)];
  const Launch* launch = FindLaunch(job, number);
  std::string text = "      node " + std::to_string(rank) + ": launch " + std::to_string(number);
  static const Request kUnknown;
  const Request& request = launch != nullptr ? RequestOf(job, *launch) : kUnknown;
  if (launch != nullptr) text += " (" + Spelled(PlaceText(request.ask)) + ")";
  // What a cloud's own tools call it.
  const BrokerTraits* const there = TraitsOf(request.ask.place.provider);
  if (launch != nullptr && there != nullptr && there->rents && !launch->instance_id.empty()) {
    text += ", " + Spelled(launch->instance_id);
    if (!launch->own_id.empty()) text += " (" + Spelled(launch->own_id) + ")";
    if (there->tells_prices) text += ", " + PriceText(PriceOf(job, *launch));
  }
  if (!request.reason.empty()) text += ", " + Spelled(request.reason);
  std::string used;
  for (const UsageDigest& usage : input.usage) {
    if (usage.attempt == attempt.number && usage.rank == rank) {
      used = "\n        " + UsageText(usage);
    }
  }
  for (const ReportSeen& seen : input.reports) {
    const NodeReport& report = seen.report;
    if (report.attempt != attempt.number || report.rank != rank) continue;
    const bool over =
        attempt.state == AttemptState::kEnded || (launch != nullptr && launch->closed);
    text += ", " + Printable(report.address) + ", " + Printable(PhaseText(report, over));
    if (!report.mechanism.empty()) text += ", box " + Printable(report.mechanism);
    if (report.notice) text += ", notice until " + LocalTime(report.notice->until);
    text += "\n        cpu " +
            HumanDuration(Duration{static_cast<int64_t>(report.cpu_seconds * 1000)}) +
            MemoryText(report, over) + ", " + std::to_string(report.log_lines) +
            (report.log_lines == 1 ? " log line" : " log lines");
    text += std::exchange(used, "");
    if (!report.trouble.empty()) text += "\n        trouble: " + Printable(report.trouble);
    const auto cut = CutOff(job, input.reports);
    if (std::find(cut.begin(), cut.end(), &report) != cut.end()) {
      text += std::string("\n        ") + kCutOff;
    }
    if (!report.restore_error.empty()) {
      text += "\n        restore failed: " + Printable(report.restore_error);
    }
    if (report.end && report.end->reason == EndReason::kUserError && !report.stderr_tail.empty()) {
      text += "\n        last lines of stderr:";
      for (const std::string& line : Split(report.stderr_tail, '\n')) {
        if (!line.empty()) text += "\n          " + Printable(line);
      }
    }
  }
  text += used;  // where no report is left
  if (launch != nullptr && launch->closed) {
    text += "\n        launch closed, " + std::string(Name(*launch->close_reason)) + ": " +
            Printable(launch->close_why);
  } else if (launch != nullptr && request.refusal && launch->instance_id.empty()) {
    text += "\n        asked " + std::to_string(request.tries) +
            (request.tries == 1 ? " time" : " times") + ", refused (" +
            std::string(Name(request.refusal->what)) + "): " + Printable(request.refusal->message);
  }
  return text + "\n";
}

// The reason has the code or signal already; then these words (agent/supervisor.cc) add nothing.
bool WhySaysMore(const Ending& ending) {
  if (ending.reason != EndReason::kUserError) return true;
  const std::string plain =
      ending.signal != 0 ? "the program was ended by signal " + std::to_string(ending.signal)
                         : "the program ended with exit code " + std::to_string(ending.exit_code);
  return ending.why != plain;
}

// The last that the deciding node's program wrote to standard error, "" when nothing is known.
std::string LastWords(const Job& job, const std::vector<ReportSeen>& reports) {
  std::string text;
  for (const ReportSeen& seen : reports) {
    if (seen.report.rank != std::max(0, job.result->rank) || seen.report.stderr_tail.empty() ||
        job.attempts.empty() || seen.report.attempt != job.attempts.back().number)
      continue;
    text += "\n  last lines of stderr:";
    for (const std::string& line : Split(seen.report.stderr_tail, '\n')) {
      if (!line.empty()) text += "\n    " + Printable(line);
    }
  }
  return text;
}

// "Succeeded: Completed" would say one thing twice.
bool SaysMore(const std::string& reason) {
  return !reason.empty() && reason != Name(EndReason::kCompleted) &&
         reason != Name(EndReason::kCancelled);
}

// What helps after a failure: the same code again fails again where the code was at fault.
std::string WhatNext(const Job& job, const std::string& newest) {
  if (job.state != JobState::kFailed) return "";
  const std::string retry = "stoker retry " + job.id;
  if (!job.result || job.result->reason != EndReason::kUserError) return " · " + retry;
  const bool restored = std::any_of(job.attempts.begin(), job.attempts.end(),
                                    [](const Attempt& one) { return !one.restore.empty(); });
  if (newest.empty() && !restored) {
    return "\n  next: fix it, then stoker run again (" + retry + " runs the same code)";
  }
  return "\n  next: fix it, then stoker run --from " + job.id +
         " goes on from its newest checkpoint (" + retry + " runs the same code)";
}

std::string MoveText(const Move& move, bool over) {
  const std::string asked =
      "asked " + LocalTime(move.at) + (move.by.empty() ? "" : " by " + Printable(move.by));
  const std::string to = Printable(move.to);
  const bool under_way = move.state == MoveState::kAsked || move.state == MoveState::kTold;
  if (over && under_way) {
    return "  stayed      it ended before it moved to " + to + " (" + asked + ")\n";
  }
  switch (move.state) {
    case MoveState::kAsked:
      return "  moves       to " + to + " (" + asked + ")" +
             (move.waits ? ": it trains on until its machines there are up" : "") + "\n";
    case MoveState::kTold:
      return "  moves       to " + to + " (" + asked + "): its nodes are told to save and stop\n";
    case MoveState::kArrived:
      return "  moved       to " + to + " (" + asked + ")\n";
    case MoveState::kGivingUp:
    case MoveState::kGivenUp:
      return "  stays       the move to " + to + " (" + asked +
             ") is given up: " + Printable(move.why) + "\n";
  }
  return "";
}

}  // namespace

std::string Ago(WallTime then, WallTime now) {
  return HumanDuration(std::max(Duration{}, now - then)) + " ago";
}

std::string KeptMachines(const Job& job, WallTime now) {
  const auto until = KeptUntil(job, now);
  if (!until) return "";
  const auto kept = std::count_if(job.launches.begin(), job.launches.end(),
                                  [&](const Launch& launch) { return IsKept(launch, now); });
  return (kept == 1 ? "its machine is" : "its " + std::to_string(kept) + " machines are") +
         " kept until " + LocalTime(*until) +
         " (keep_failed), and paid for; to end this now: stoker cancel " + job.id;
}

std::string TellSummary(const Job& job, const std::vector<ReportSeen>& reports, WallTime now,
                        const AlreadySaid& said_before) {
  const WallTime end = job.ended.value_or(now);
  std::string text = job.name + " (" + job.id + ") " + StateText(job.state, Unkept(job));
  const std::string reason = ReasonText(job);
  if (SaysMore(reason)) text += ": " + reason;
  text += "\n  " + HumanDuration(end - job.created) + " from submit to end, " +
          HumanDuration(RunTime(job, reports, now)) + " of program time";
  const int attempts = AttemptsThatRan(job);
  text += ", " + std::to_string(attempts) + (attempts == 1 ? " attempt" : " attempts");
  int interrupted = 0;
  int moved = 0;
  for (const Attempt& a : job.attempts) {
    interrupted += a.ending && a.ending->reason == EndReason::kInterrupted;
    moved += a.ending && a.ending->reason == EndReason::kMoved;
  }
  std::vector<std::string> counts;
  if (interrupted > 0) counts.push_back(std::to_string(interrupted) + " interrupted");
  if (moved > 0) counts.push_back(std::to_string(moved) + " moved");
  if (!counts.empty()) text += " (" + Join(counts, ", ") + ")";
  const std::string newest = NewestCheckpoint(job, reports);
  if (!newest.empty()) text += "\n  last checkpoint " + newest;
  for (const std::string& line : TroublesAtTheEnd(reports)) text += "\n  " + Printable(line);
  const Attempt* needed = NewestNeeded(job);
  const auto left = NewerThanSaved(job);
  if (left && job.state != JobState::kSucceeded) {
    text += "\n  left behind as it was: " + LeftText(*left) + " (stoker run --from " + job.id +
            "/" + std::string(kAsLeft) + ")";
  }
  if (job.result && job.state == JobState::kFailed) {
    if (!said_before.why && WhySaysMore(*job.result)) text += "\n  " + Printable(job.result->why);
    if (!said_before.output) text += LastWords(job, reports);
    if (const auto missing = FindMissingFile(job, reports)) {
      text += "\n  " + MissingFileText(*missing);
    }
  }
  text += "\n";
  if (needed != nullptr) {
    for (const std::string& output : needed->missing_outputs) text += NeverCame(output);
    text += NotKept("  ", *needed);
  }
  const std::string machines = KeptMachines(job, now);
  if (!machines.empty()) text += "  " + machines + "\n";
  text += "  more: stoker show " + job.id + " · stoker logs " + job.id;
  return text + WhatNext(job, newest) + "\n";
}

std::string TellStory(const StoryInput& input) {
  const Job& job = input.job;
  const bool renamed = !input.said.name.empty() && input.said.name != job.name;
  std::string text = (renamed ? input.said.name : job.name) + "  " + job.id + "  " +
                     StateText(job.state, Unkept(job));
  const std::string reason = ReasonText(job);
  if (SaysMore(reason)) text += " (" + reason + ")";
  text += "\n  submitted   " + LocalTime(job.created) + " (" + Ago(job.created, input.now) +
          ") by " + Printable(job.user) + (renamed ? " as " + Printable(job.name) : "") + "\n";
  if (!input.said.tags.empty()) text += "  tags        " + Join(input.said.tags, " ") + "\n";
  if (!input.said.note.empty()) text += "  note        " + Printable(input.said.note) + "\n";
  if (input.spec != nullptr) text += "  program     " + ProgramText(*input.spec) + "\n";
  if (input.spec != nullptr && !input.spec->hyperparameters.empty()) {
    text += "  parameters ";
    for (const auto& [name, value] : input.spec->hyperparameters) {
      text += " " + Printable(name) + "=" + Printable(ShownArgument(name, value));
    }
    text += "\n";
  }
  if (input.spec != nullptr && !input.spec->envs.empty()) {
    text += "  variables  ";
    for (const auto& [name, value] : input.spec->envs) {
      text += " " + name + "=" + client::ShownValue(value);
    }
    text += "\n";
  }
  if (!job.workdir_note.empty()) text += "  code        " + Printable(job.workdir_note) + "\n";
  if (!job.shell.empty()) text += "  shell       " + Printable(Join(job.shell, ", ")) + "\n";
  if (!job.image.empty()) text += "  image       " + Printable(job.image) + "\n";
  for (const Pin& pin : job.pins) {
    text += "  pinned      " + Printable(pin.source) + " is " +
            (pin.commit.empty() ? "what pip took: nobody said in time" : pin.commit) + "\n";
  }
  text += "  nodes       " + std::to_string(job.num_nodes) + "\n";
  if (!job.from.empty()) {
    text += "  goes on     from " + Printable(job.from) + ", with other code\n";
  } else if (!job.retry_of.empty()) {
    text += "  retry of    " + job.retry_of + "\n";
  }
  for (size_t i = 0; i < input.tiers.size(); ++i) {
    text += (i == 0 ? "  recovery    " : "              ") + input.tiers[i] + "\n";
  }
  if (job.cancel) {
    text +=
        "  cancelled   " + LocalTime(job.cancel->at) + " by " + Printable(job.cancel->by) + "\n";
  }
  if (job.move) text += MoveText(*job.move, IsFinal(job.state));
  for (const std::string& id : job.suspects)
    text += "  suspect     checkpoint " + Printable(id) + "\n";
  if (job.folded) {
    text += "  waited      " + std::to_string(job.folded->attempts) + " attempts between " +
            LocalTime(job.folded->since) + " and " + LocalTime(job.folded->until) +
            " got no machine (" + std::to_string(job.folded->requests) + " requests)\n";
  }
  for (const Attempt& attempt : job.attempts) {
    if (attempt.not_needed) continue;
    text += AttemptText(input.job, attempt, input.reports, input.now);
    for (int rank = 0; rank < static_cast<int>(attempt.launches.size()); ++rank) {
      text += NodeText(input, attempt, rank);
    }
  }
  if (job.result) text += "  result      " + Printable(job.result->why) + "\n";
  if (const auto missing = FindMissingFile(job, input.reports)) {
    text += "              " + MissingFileText(*missing) + "\n";
  }
  const std::string machines = KeptMachines(job, input.now);
  if (!machines.empty()) text += "  machines    " + machines + "\n";
  return text;
}

}  // namespace stoker::cli
