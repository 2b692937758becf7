// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/text.h"
#include "cli/context.h"
#include "cli/finish.h"
#include "cli/interrupts.h"
#include "cli/submit.h"
#include "cli/variables.h"
#include "cli/verb.h"
#include "controller/restorable.h"
#include "ledger/records.h"
#include "spec/parse.h"
#include "view/lineage.h"

namespace stoker::cli {
namespace {

struct RetryOptions {
  std::string job = "-";
  bool detach = false;
  bool fresh = false;
  std::vector<std::string> secrets;
};

// Of the job's own secrets: it has no others.
Result<std::map<std::string, std::string>> SecretValues(const RetryOptions& options,
                                                        const JobSpec& spec) {
  STOKER_ASSIGN(const GivenVariables given, ReadVariables({{}, {}, options.secrets}));
  for (const std::string& name : given.secrets) {
    if (std::find(spec.secrets.begin(), spec.secrets.end(), name) != spec.secrets.end()) continue;
    return Status(Code::kUsage, "--secret " + Printable(name) + ": the job has no such secret",
                  "'stoker run --from JOB --secret NAME' starts one that has");
  }
  return given.secret_values;
}

Status SayWhereItBegins(Context& context, const std::string& id) {
  STOKER_ASSIGN(Ledger * ledger, context.ledger());
  Job next;
  next.retry_of = id;
  STOKER_ASSIGN(const RestorableRead found, ReadRestorable(*ledger, next, true));
  const std::string begins = ChooseRestore(next, found.generations);
  context.Say((begins.empty() ? "starts at " : "starts from ") + SayCheckpoint(begins) +
              (found.cut.empty() ? "" : " (" + found.cut + ")"));
  return Status::Ok();
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
  SubmitRequest request;
  STOKER_ASSIGN(request.spec, ParseStoredSpec(text));
  STOKER_ASSIGN(request.secret_values, SecretValues(options, request.spec));
  // The same code, also when the folder has changed or is gone since.
  request.code_digest = pass.job.code_digest;
  request.code_note = pass.job.workdir_note;
  if (!options.fresh) {
    request.retry_of = id;
    STOKER_TRY(SayWhereItBegins(context, id));
  }
  STOKER_ASSIGN(const Job job, Submit(context, request));
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
      "stays as it is. To run changed code from a checkpoint: stoker run --from JOB.";
  verb.exit_codes = {{"CODE", "The program's own exit code, when the job failed with one"},
                     {"128+N", "Signal N ended the program"},
                     {"127", "The program was not found"}};
  verb.examples = {"stoker retry digits", "stoker retry k3f7 --fresh --detach"};
  verb.options = {
      {"JOB", "Which job ('-' = your last)", &options->job, ""},
      {"-d,--detach", "Print the new job's id and return at once", &options->detach},
      {"--fresh", "Start without a checkpoint", &options->fresh},
      {"--secret", "Give a secret of the job anew: yours, or from a file with NAME=@FILE",
       &options->secrets, "NAME"}};
  verb.run = [options](Context& context) { return Run(context, *options); };
  verb.options_owner = options;
  return verb;
}

}  // namespace stoker::cli
