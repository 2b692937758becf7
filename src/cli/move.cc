// SPDX-License-Identifier: Apache-2.0
#include <optional>

#include "base/json.h"
#include "base/text.h"
#include "cli/terminal/context.h"
#include "cli/terminal/interrupts.h"
#include "cli/verb.h"
#include "client/move.h"

namespace stoker::cli {
namespace {

constexpr char kMovesOn[] =
    "the move goes on: whoever looks at the job, and its nodes, go on with it";

struct MoveOptions {
  std::string job = "-";
  std::string in = "30s";
  bool detach = false;
  client::MoveWish wish;
};

std::string StateWord(const Job& job) {
  return job.move ? std::string(Name(job.move->state)) : "None";
}

Status Tell(Context& context, const Job& job, const std::string& to, bool there) {
  if (!context.json) return Status::Ok();
  const Attempt* newest = NewestNeeded(job);
  nlohmann::json out = {{"id", job.id},
                        {"name", job.name},
                        {"to", to},
                        {"there", there},
                        {"move", StateWord(job)},
                        {"attempt", newest != nullptr ? newest->number : 0},
                        {"state", Name(job.state)}};
  if (job.move && !job.move->why.empty()) out["why"] = job.move->why;
  context.Print(out.dump() + "\n");
  return Status::Ok();
}

Status Stay(Context& context, const client::MoveAsked& asked) {
  CatchInterrupts(kMovesOn);
  STOKER_ASSIGN(const std::optional<Job> job, client::FollowMove(context, asked, Interrupted));
  if (!job) {
    context.Say(kMovesOn);
    return Status::Ok();
  }
  STOKER_TRY(Tell(context, *job, asked.to, job->move->state == MoveState::kArrived));
  STOKER_TRY(client::CheckMoved(*job));
  if (IsFinal(job->state)) {
    context.Say("the job has ended meanwhile: " + std::string(Name(job->state)));
  } else {
    const Attempt* newest = NewestNeeded(*job);
    context.Say("attempt " + std::to_string(newest->number) + " runs at " + asked.to + ", from " +
                (newest->restore.empty() ? "the start" : newest->restore));
  }
  return Status::Ok();
}

Status Leave(Context& context, const client::MoveAsked& asked) {
  STOKER_ASSIGN(const Job job, client::LeaveMove(context, asked));
  STOKER_TRY(client::CheckMoved(job));
  context.Say("it moves; 'stoker show " + job.id + "' tells how far it is");
  return Tell(context, job, asked.to, false);
}

Status Run(Context& context, const MoveOptions& options) {
  EndOnInterrupt("stopped: nothing was changed");
  client::MoveWish wish = options.wish;
  STOKER_ASSIGN(wish.job, context.ResolveJob(options.job, NameMeans::kRunning));
  const auto lead = ParseDuration(options.in);
  if (!lead.ok()) {
    return Status(Code::kUsage, "--in: " + lead.status().message(), lead.status().next());
  }
  wish.lead = *lead;
  STOKER_ASSIGN(const client::MoveAsked asked, client::AskMove(context, wish));
  const Job& job = asked.job;
  if (asked.answer == MoveAnswer::kThere) {
    context.Say("job " + job.id + " is there already; --force gives it a fresh machine");
    return Tell(context, job, asked.to, true);
  }
  if (asked.answer == MoveAnswer::kGivesUp) {
    context.Say("the move of job " + job.id + " to " + job.move->to +
                " is given up: it stays where it is");
    return Tell(context, job, asked.to, true);
  }
  context.Say("job " + job.id + " moves to " + asked.to +
              (job.move->waits ? ": it trains on until its machines there are up" : ""));
  return options.detach ? Leave(context, asked) : Stay(context, asked);
}

}  // namespace

Verb MoveVerb() {
  auto options = std::make_shared<MoveOptions>();
  Verb verb = VerbOf(options, Run);
  verb.name = "move";
  verb.summary = "Move a job to another place, from the checkpoint that it saves for that";
  verb.description =
      "Opens the job's next attempt at another place. It trains on until the machines there are "
      "up; then its nodes get a notice as 'preempt' gives it, save a checkpoint, and the job goes "
      "on from that there: the same job, one story. Where old and new machines may be of one "
      "quota or one computer, the notice comes at once. A job that waits is asked for there "
      "instead. A place that refuses for good costs nothing: the job stays. Moving it to where it "
      "still is gives up a move that is under way. Stays until the job runs there; if it dies, "
      "whoever looks at the job goes on.";
  verb.examples = {"stoker move digits --infra gcp/us-central1",
                   "stoker move - --infra local --now", "stoker move k3f7 --infra ssh/lab -d"};
  verb.options = {
      {"JOB", "Which job ('-' = your last)", &options->job, ""},
      {"--infra", "Where to, as in the job file", &options->wish.infra, "WHERE", true},
      {"--in", "How long the notice lasts", &options->in, "DURATION"},
      {"--now", "Give the notice at once, not when the new machines are up", &options->wish.now},
      {"--force", "Fresh machines also where it is there already", &options->wish.force},
      {"--outlive", "Go on after the sbatch that this runs inside of", &options->wish.outlive},
      {"-d,--detach", "Return once the move is in the job's record", &options->detach}};
  return verb;
}

}  // namespace stoker::cli
