// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <set>
#include <thread>

#include "base/json.h"
#include "base/text.h"
#include "base/utf8.h"
#include "cli/terminal/context.h"
#include "cli/terminal/interrupts.h"
#include "cli/verb.h"
#include "client/submit/allocation.h"
#include "client/submit/late_answers.h"
#include "client/submit/offers.h"
#include "client/submit/private_env.h"
#include "client/submit/submit.h"
#include "ledger/records.h"
#include "policy/moving.h"
#include "provider/local/local_private.h"
#include "provider/local/local_provider.h"
#include "spec/choices.h"
#include "spec/parse.h"
#include "spec/text/infra.h"
#include "sys/file.h"

namespace stoker::cli {
namespace {

constexpr char kMovesOn[] =
    "the move goes on: whoever looks at the job, and its nodes, go on with it";

struct MoveOptions {
  std::string job = "-";
  std::string infra;
  std::string in = "30s";
  bool now = false;
  bool force = false;
  bool detach = false;
  bool outlive = false;
};

Status MayMove(const Job& job) {
  if (IsFinal(job.state)) {
    return Status(Code::kInvalid,
                  "job " + job.id + " has ended: it is " + std::string(Name(job.state)),
                  "'stoker run --from " + job.id +
                      " --infra WHERE' goes on from its newest "
                      "checkpoint there");
  }
  if (job.cancel) {
    return Status(Code::kInvalid, "job " + job.id + " is being cancelled");
  }
  if (!job.movable) {
    return Status(
        Code::kInvalid, "job " + job.id + " was submitted by a stoker whose nodes know no moves",
        "'stoker cancel " + job.id + "', then 'stoker run --from " + job.id + " --infra WHERE'");
  }
  return Status::Ok();
}

// What a machine of this computer needs, and has only if the job was submitted here.
Status CheckHere(Context& context, const Job& job, const JobSpec& spec, const LocalPrivate& own) {
  const std::string provider = ParseInfra(spec.resources.infra).provider;
  for (const std::string& name : spec.secrets) {
    const bool has = std::any_of(own.secrets.begin(), own.secrets.end(),
                                 [&](const auto& secret) { return secret.first == name; });
    if (has) continue;
    return Status(Code::kInvalid,
                  "the secret " + name + " of job " + job.id + " is not on this computer",
                  "Move the job from the computer that it was submitted on");
  }
  if (provider != kLocalProvider) return Status::Ok();
  for (const InputSpec& input : spec.inputs) {
    if (input.source[0] != '/' || sys::FileExists(input.source) || sys::DirExists(input.source)) {
      continue;
    }
    return Status(Code::kInvalid, "the input '" + input.name +
                                      "' is not on this computer: " + Printable(input.source));
  }
  STOKER_ASSIGN(LocalProvider * local, context.local_provider());
  if (job.host.empty() || job.host == local->host()) return Status::Ok();
  return Status(Code::kInvalid, "the local machines of job " + job.id + " are another computer's",
                "Move it to a place that both reach first");
}

struct Wish {
  Move move;
  bool local = false;
  std::string host;
  std::string path;
};

Result<Wish> Resolve(Context& context, const Job& job, const MoveOptions& options) {
  // Before anything is brought anywhere.
  auto lead = ParseDuration(options.in);
  if (!lead.ok()) {
    return Status(Code::kUsage, "--in: " + lead.status().message(), lead.status().next());
  }
  STOKER_ASSIGN(Ledger * ledger, context.ledger());
  STOKER_ASSIGN(const std::string text, ReadSpec(*ledger, job));
  STOKER_ASSIGN(JobSpec spec, ParseStoredSpec(text));
  auto infra = CheckInfra("--infra", options.infra);
  if (!infra.ok()) return Status(Code::kUsage, infra.status().message(), infra.status().next());
  NarrowChoices(*infra, &spec);
  STOKER_TRY(client::CheckPlace(spec));
  STOKER_TRY(client::CheckWholeShell(spec));
  LocalPrivate own;
  if (auto kept = ReadLocalPrivate(context.places().state, ledger->id(), job.id); kept.ok()) {
    own = std::move(*kept);
  }
  const bool rented = client::AnyChoiceHas(spec, &BrokerTraits::rents);
  if (!rented) STOKER_TRY(CheckHere(context, job, spec, own));
  Wish wish;
  STOKER_ASSIGN(wish.move.offers, client::ResolveOffers(context, spec, context.clock().Wall(),
                                                        own != LocalPrivate()));
  client::TieToAllocation(context, {options.outlive, false}, &wish.move.offers);
  if (rented) {
    STOKER_TRY(client::CompleteOffers(context, job.binary_digest, &wish.move.offers));
  } else {
    STOKER_TRY(client::BringBinary(context, job.binary_digest));
    if (client::AnyChoiceHas(spec, &BrokerTraits::reads_owner)) {
      STOKER_TRY(WriteLocalPrivate(context.places().state, ledger->id(), job.id, own));
    }
  }
  wish.move.to = *infra;
  wish.move.by = context.user();
  wish.move.lead = *lead;
  wish.local = ParseInfra(*infra).provider == kLocalProvider;
  STOKER_ASSIGN(LocalProvider * local, context.local_provider());
  wish.host = local->host();
  const char* path = std::getenv("PATH");
  wish.path = path != nullptr ? Printable(path) : "";
  return wish;
}

// Decides on the record as it is now; false: it stays as it is.
Result<bool> Propose(const Wish& wish, const MoveOptions& options, Job* job, MoveAnswer* answer) {
  STOKER_TRY(MayMove(*job));
  *answer = ProposeMove({wish.move, options.now, options.force}, *job);
  if (*answer == MoveAnswer::kAsked && wish.local) {
    job->host = wish.host;
    job->path = wish.path;
  }
  return *answer == MoveAnswer::kAsked || *answer == MoveAnswer::kGivesUp;
}

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

Status NotMoved(const Job& job) {
  return Status(Code::kInvalid, "job " + job.id + " does not move: " + job.move->why,
                "It goes on where it was; 'stoker show " + job.id + "' tells how");
}

// What the last look showed, each thing once.
class Progress {
 public:
  Progress(Context& context, std::string to) : context_(context), to_(std::move(to)) {}

  void Look(const PassResult& pass) {
    const Job& job = pass.job;
    if (pass.trouble) Once(pass.trouble->ToString());
    if (!job.move) return;
    for (const Request& request : job.requests) {
      if (request.number < job.move->request || !request.refusal) continue;
      Once(to_ + " refuses (" + std::string(Name(request.refusal->what)) +
           "): " + Printable(request.refusal->message));
    }
    if (job.move->state == MoveState::kTold) {
      Once("its nodes are told: SIGTERM comes within " + FormatDuration(job.move->lead) +
           ", then the program has its stop_grace to end; its log tells both times");
    }
    for (const Attempt& attempt : job.attempts) {
      if (attempt.number >= job.move->attempt || attempt.state != AttemptState::kEnded) continue;
      if (!attempt.ending || attempt.ending->reason != EndReason::kMoved) continue;
      Once("attempt " + std::to_string(attempt.number) + " has ended" +
           (attempt.newest_checkpoint.empty()
                ? ", without a checkpoint"
                : "; its newest checkpoint is " + attempt.newest_checkpoint));
    }
    context_.Progress("moving " + job.id + " to " + to_ + " …");
  }

 private:
  void Once(const std::string& text) {
    if (said_.insert(text).second) context_.Say(text);
  }
  Context& context_;
  std::string to_;
  std::set<std::string> said_;
};

bool IsOver(const Job& job) { return MoveUnderWay(job) == nullptr || IsFinal(job.state); }

// Until an attempt runs there: until then it may be that nobody else can ask for machines there.
Status Stay(Context& context, Controller& controller, const std::string& id,
            const std::string& to) {
  STOKER_ASSIGN(Ledger * ledger, context.ledger());
  Progress progress(context, to);
  CatchInterrupts(kMovesOn);
  for (;;) {
    const auto pass = controller.Pass(id);
    if (!pass.ok() && !pass.status().transient()) return pass.status();
    if (pass.ok()) {
      progress.Look(*pass);
      const Job& job = pass->job;
      const bool gone_back = job.move && job.move->state == MoveState::kGivingUp;
      if (IsOver(job) && !gone_back) {
        STOKER_TRY(Tell(context, job, to, job.move->state == MoveState::kArrived));
        if (job.move->state == MoveState::kGivenUp) return NotMoved(job);
        if (IsFinal(job.state)) {
          context.Say("the job has ended meanwhile: " + std::string(Name(job.state)));
        } else {
          const Attempt* newest = NewestNeeded(job);
          context.Say("attempt " + std::to_string(newest->number) + " runs at " + to + ", from " +
                      (newest->restore.empty() ? "the start" : newest->restore));
        }
        return Status::Ok();
      }
    }
    if (Interrupted()) {
      context.Say(kMovesOn);
      return Status::Ok();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(ledger->store().traits().poll.ms));
  }
}

Status Leave(Context& context, Controller& controller, const std::string& id,
             const std::string& to) {
  auto pass = controller.Pass(id);
  if (pass.ok()) pass = client::AwaitLateAnswers(context, controller, std::move(*pass));
  STOKER_TRY(pass.status());
  if (pass->trouble) context.Say("no machine yet: " + pass->trouble->ToString());
  if (pass->job.move && pass->job.move->state == MoveState::kGivenUp) return NotMoved(pass->job);
  context.Say("it moves; 'stoker show " + id + "' tells how far it is");
  return Tell(context, pass->job, to, false);
}

Status Run(Context& context, const MoveOptions& options) {
  EndOnInterrupt("stopped: nothing was changed");
  STOKER_ASSIGN(const std::string id, context.ResolveJob(options.job, NameMeans::kRunning));
  STOKER_ASSIGN(Ledger * ledger, context.ledger());
  STOKER_ASSIGN(Controller * controller, context.controller());
  STOKER_ASSIGN(const PassResult pass, controller->Pass(id));
  STOKER_TRY(MayMove(pass.job));
  STOKER_ASSIGN(Wish wish, Resolve(context, pass.job, options));
  wish.move.at = pass.store_now;
  const std::string to = wish.move.to;
  MoveAnswer answer = MoveAnswer::kThere;
  controller->Submitted(id);
  const auto written =
      MutateJob(*ledger, id, [&](Job& job) { return Propose(wish, options, &job, &answer); });
  STOKER_TRY(written.status());
  const Job& job = written->job;
  if (answer == MoveAnswer::kThere) {
    context.Say("job " + id + " is there already; --force gives it a fresh machine");
    return Tell(context, job, to, true);
  }
  if (answer == MoveAnswer::kGivesUp) {
    context.Say("the move of job " + id + " to " + job.move->to +
                " is given up: it stays where it is");
    (void)controller->Pass(id);
    return Tell(context, job, to, true);
  }
  context.Say("job " + id + " moves to " + to +
              (job.move->waits ? ": it trains on until its machines there are up" : ""));
  if (options.detach) return Leave(context, *controller, id, to);
  return Stay(context, *controller, id, to);
}

}  // namespace

Verb MoveVerb() {
  auto options = std::make_shared<MoveOptions>();
  Verb verb;
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
      {"--infra", "Where to, as in the job file", &options->infra, "WHERE", true},
      {"--in", "How long the notice lasts", &options->in, "DURATION"},
      {"--now", "Give the notice at once, not when the new machines are up", &options->now},
      {"--force", "Fresh machines also where it is there already", &options->force},
      {"--outlive", "Go on after the sbatch that this runs inside of", &options->outlive},
      {"-d,--detach", "Return once the move is in the job's record", &options->detach}};
  verb.run = [options](Context& context) { return Run(context, *options); };
  verb.options_owner = options;
  return verb;
}

}  // namespace stoker::cli
