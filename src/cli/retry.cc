// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <string>

#include "cli/finish.h"
#include "cli/terminal/context.h"
#include "cli/terminal/interrupts.h"
#include "cli/verb.h"
#include "client/retry.h"

namespace stoker::cli {
namespace {

struct RetryOptions {
  std::string job = "-";
  bool detach = false;
  client::RetryWish wish;
};

Status Run(Context& context, const RetryOptions& options) {
  EndOnInterrupt(kNotSubmitted);
  client::RetryWish wish = options.wish;
  STOKER_ASSIGN(wish.job, context.ResolveJob(options.job));
  wish.before_record = SubmitsNow;
  STOKER_ASSIGN(const client::Submitted made, client::Retry(context, wish));
  return AfterSubmit(context, made.job, made.spec, options.detach, false);
}

}  // namespace

Verb RetryVerb() {
  auto options = std::make_shared<RetryOptions>();
  Verb verb = VerbOf(options, Run);
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
      {"--fresh", "Start without a checkpoint", &options->wish.fresh},
      {"--outlive", "Go on after the sbatch that this runs inside of", &options->wish.outlive},
      {"-n,--name", "The new job's name", &options->wish.changes.flags.name, "NAME"},
      {"--hp", "Set a hyperparameter", &options->wish.changes.flags.hyperparameters, "NAME=VALUE"},
      {"--env", "Set a variable; NAME or 'PATTERN*' alone takes yours",
       &options->wish.changes.variables.envs, "NAME=VALUE"},
      {"--env-file", "Set variables from a file of NAME=VALUE lines",
       &options->wish.changes.variables.env_files, "FILE"},
      {"--secret", "Give a secret of the job anew: yours, or from a file with NAME=@FILE",
       &options->wish.changes.variables.secrets, "NAME"},
      {"--cpus", "CPUs of each node", &options->wish.changes.flags.cpus, "N"},
      {"--memory", "Memory of each node", &options->wish.changes.flags.memory, "SIZE"},
      {"--gpus", "GPUs of each node: N, NAME, NAME:N", &options->wish.changes.flags.gpus, "N"},
      {"--priority", "Its place in the queue: a higher one is first",
       &options->wish.changes.flags.priority, "N"},
      {"--max-duration", "Stop the job when the program has run this long",
       &options->wish.changes.flags.max_duration, "DURATION"},
      {"--stall", "Stop it after this long without output or checkpoint",
       &options->wish.changes.flags.stall, "DURATION"},
      {"--max-restarts", "How often to restart after a program's error",
       &options->wish.changes.flags.max_restarts, "N"}};
  return verb;
}

}  // namespace stoker::cli
