// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>
#include <optional>

#include "base/text.h"
#include "cli/finish.h"
#include "cli/terminal/context.h"
#include "cli/terminal/interrupts.h"
#include "cli/verb.h"
#include "client/clear/removals.h"
#include "client/submit/submit.h"
#include "client/submit/variables.h"
#include "controller/restorable.h"
#include "job/checkpoint_name.h"
#include "ledger/index.h"
#include "ledger/records.h"
#include "spec/parse.h"
#include "sys/file.h"
#include "view/lineage.h"

namespace stoker::cli {
namespace {

struct RetryOptions {
  std::string job = "-";
  bool detach = false;
  bool outlive = false;
  bool fresh = false;
  std::string name, cpus, memory, gpus, priority, max_duration, stall, max_restarts;
  std::vector<std::string> envs, env_files, secrets, hyperparameters;
};

std::optional<std::string> IfGiven(const std::string& value) {
  return value.empty() ? std::nullopt : std::optional<std::string>(value);
}

// The job file as it was submitted, with what the flags change of it. It has no other secrets.
Result<JobSpec> Changed(Context& context, const RetryOptions& options, const std::string& text,
                        const client::GivenVariables& given) {
  STOKER_ASSIGN(JobSpec spec, ParseStoredSpec(text));
  for (const std::string& name : given.secrets) {
    if (std::find(spec.secrets.begin(), spec.secrets.end(), name) != spec.secrets.end()) continue;
    return Status(Code::kUsage, "--secret " + Printable(name) + ": the job has no such secret",
                  "'stoker run --from JOB --secret NAME' starts one that has");
  }
  ParseOptions parse;
  SpecOverrides& changes = parse.overrides;
  changes.name = IfGiven(options.name);
  changes.cpus = IfGiven(options.cpus);
  changes.memory = IfGiven(options.memory);
  changes.gpus = IfGiven(options.gpus);
  changes.priority = IfGiven(options.priority);
  changes.max_duration = IfGiven(options.max_duration);
  changes.stall = IfGiven(options.stall);
  changes.max_restarts = IfGiven(options.max_restarts);
  changes.envs = given.envs;
  changes.hyperparameters = options.hyperparameters;
  parse.file_name = "the job file of the job";
  parse.base_dir = "/";
  parse.home = sys::HomeDir();
  parse.environment = [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  };
  ParsedSpec parsed = ParseJobSpecAll(text, parse);
  if (!parsed.errors.empty()) return ErrorsToStatus(std::move(parsed.errors));
  for (const std::string& note : parsed.notes) context.Say(note);
  return std::move(parsed.spec);
}

bool ChangesAnything(const RetryOptions& o) {
  const std::vector<const std::string*> single = {&o.name,  &o.cpus,        &o.memory,
                                                  &o.gpus,  &o.priority,    &o.max_duration,
                                                  &o.stall, &o.max_restarts};
  return std::any_of(single.begin(), single.end(), [](const auto* one) { return !one->empty(); }) ||
         !o.envs.empty() || !o.env_files.empty() || !o.secrets.empty() ||
         !o.hyperparameters.empty();
}

// Says and returns what it begins from.
Result<std::string> SayWhereItBegins(Context& context, const Job& job) {
  const std::string& id = job.id;
  STOKER_ASSIGN(Ledger * ledger, context.ledger());
  Job next;
  next.retry_of = id;
  STOKER_ASSIGN(const RestorableRead found, ReadRestorable(*ledger, next, true));
  const std::string begins = ChooseRestore(next, found.generations);
  context.Say((begins.empty() ? "starts at " : "starts from ") + SayCheckpoint(begins) +
              (found.cut.empty() ? "" : " (" + found.cut + ")"));
  const auto left = NewerThanSaved(job);
  if (left && begins == JoinCheckpointName(id, left->than)) {
    context.Say("its program left " + LeftText(*left) + ": 'stoker run --from " + id + "/" +
                std::string(kAsLeft) + "' begins from that, whole or not");
  }
  return begins;
}

Status Run(Context& context, const RetryOptions& options) {
  EndOnInterrupt(kNotSubmitted);
  STOKER_ASSIGN(const std::string id, context.ResolveJob(options.job));
  STOKER_ASSIGN(Ledger * ledger, context.ledger());
  STOKER_ASSIGN(Controller * controller, context.controller());
  STOKER_ASSIGN(const PassResult pass, controller->Pass(id));
  if (!IsFinal(pass.job.state)) {
    return Status(Code::kInvalid,
                  "job " + id + " has not ended: it is " + std::string(Name(pass.job.state)),
                  "'stoker cancel " + id + "' stops it, 'stoker logs -f " + id + "' follows it");
  }
  STOKER_ASSIGN(const std::string text, ReadSpec(*ledger, pass.job));
  client::SubmitRequest request;
  request.before_record = SubmitsNow;
  STOKER_ASSIGN(request.spec, ParseStoredSpec(text));
  if (ChangesAnything(options)) {
    STOKER_ASSIGN(const client::GivenVariables given,
                  client::ReadVariables({options.envs, options.env_files, options.secrets}));
    STOKER_ASSIGN(request.spec, Changed(context, options, text, given));
    request.secret_values = given.secret_values;
  }
  STOKER_ASSIGN(const Labels said, SaidOf(*ledger, id));
  if (options.name.empty() && !said.name.empty()) request.spec.name = said.name;
  request.outlive = options.outlive;
  // The same code, also when the folder has changed or is gone since.
  request.code_digest = pass.job.code_digest;
  request.code_note = pass.job.workdir_note;
  request.git = pass.job.git;
  request.pins = pass.job.pins;
  request.left_behind = pass.job.left_behind;
  request.line = {id};
  request.code_downloads = pass.job.downloads;
  if (!options.fresh) {
    request.retry_of = id;
    STOKER_ASSIGN(request.line, client::LineOf(*ledger, pass.job));
  }
  // Before it is promised: whoever removes what was given up must not take it from now on.
  STOKER_TRY(client::SpareLine(context, request.line, "", client::UnreadLists::kTold));
  if (!options.fresh) {
    STOKER_ASSIGN(request.promised, SayWhereItBegins(context, pass.job));
  }
  STOKER_ASSIGN(const Job job, client::Submit(context, request));
  return AfterSubmit(context, job, request.spec, options.detach, false);
}

}  // namespace

Verb RetryVerb() {
  auto options = std::make_shared<RetryOptions>();
  Verb verb;
  verb.name = "retry";
  verb.summary = "Run an ended job again, from its newest checkpoint";
  verb.description =
      "Runs the same code again as a new job. It starts from the newest checkpoint of the old "
      "job, or of the jobs that one went on from; --fresh starts at the beginning. The old job "
      "stays as it is. The options change what the new job's job file says of hyperparameters, "
      "variables, its share of a machine and its limits; all else is as it was. A job that was "
      "renamed is retried under its present name. To run changed code from a checkpoint: stoker "
      "run --from JOB.";
  verb.exit_codes = {{"CODE", "The program's own exit code, when the job failed with one"},
                     {"128+N", "Signal N ended the program"},
                     {"127", "The program was not found"}};
  verb.examples = {"stoker retry digits", "stoker retry k3f7 --fresh --detach",
                   "stoker retry digits --hp lr=.03 --env EPOCHS=40"};
  verb.options = {
      {"JOB", "Which job ('-' = your last)", &options->job, ""},
      {"-d,--detach", "Print the new job's id and return at once", &options->detach},
      {"--fresh", "Start without a checkpoint", &options->fresh},
      {"--outlive", "Go on after the sbatch that this runs inside of", &options->outlive},
      {"-n,--name", "The new job's name", &options->name, "NAME"},
      {"--hp", "Set a hyperparameter", &options->hyperparameters, "NAME=VALUE"},
      {"--env", "Set a variable; NAME or 'PATTERN*' alone takes yours", &options->envs,
       "NAME=VALUE"},
      {"--env-file", "Set variables from a file of NAME=VALUE lines", &options->env_files, "FILE"},
      {"--secret", "Give a secret of the job anew: yours, or from a file with NAME=@FILE",
       &options->secrets, "NAME"},
      {"--cpus", "CPUs of each node", &options->cpus, "N"},
      {"--memory", "Memory of each node", &options->memory, "SIZE"},
      {"--gpus", "GPUs of each node: N, NAME, NAME:N", &options->gpus, "N"},
      {"--priority", "Its place in the queue: a higher one is first", &options->priority, "N"},
      {"--max-duration", "Stop the job when the program has run this long", &options->max_duration,
       "DURATION"},
      {"--stall", "Stop it after this long without output or checkpoint", &options->stall,
       "DURATION"},
      {"--max-restarts", "How often to restart after a program's error", &options->max_restarts,
       "N"}};
  verb.run = [options](Context& context) { return Run(context, *options); };
  verb.options_owner = options;
  return verb;
}

}  // namespace stoker::cli
