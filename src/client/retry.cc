// SPDX-License-Identifier: Apache-2.0
#include "client/retry.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "base/text.h"
#include "client/clear/removals.h"
#include "client/submit/submit.h"
#include "controller/restorable.h"
#include "job/checkpoint_name.h"
#include "ledger/index.h"
#include "ledger/records.h"
#include "sys/file.h"
#include "view/lineage.h"

namespace stoker::client {
namespace {

// The job file as it was submitted, with what the flags change of it. It has no other secrets.
Result<JobSpec> Changed(Client& client, const RetryChanges& wanted, const std::string& text,
                        const GivenVariables& given) {
  STOKER_ASSIGN(JobSpec spec, ParseStoredSpec(text));
  for (const std::string& text : given.secrets) {
    const std::string name = text.substr(0, text.find('='));
    if (HasSecret(spec, name)) continue;
    return Status(Code::kUsage, "--secret " + Printable(name) + ": the job has no such secret",
                  "'stoker run --from JOB --secret NAME' starts one that has");
  }
  ParseOptions parse;
  parse.overrides = wanted.flags;
  parse.overrides.envs = given.envs;
  parse.overrides.secrets = given.secrets;
  parse.file_name = "the job file of the job";
  parse.base_dir = "/";
  parse.home = sys::HomeDir();
  parse.environment = [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  };
  ParsedSpec parsed = ParseJobSpecAll(text, parse);
  if (!parsed.errors.empty()) return ErrorsToStatus(std::move(parsed.errors));
  for (const std::string& note : parsed.notes) client.Say(note);
  return std::move(parsed.spec);
}

bool ChangesAnything(const RetryChanges& o) {
  return o.flags != SpecOverrides() || !o.variables.envs.empty() ||
         !o.variables.env_files.empty() || !o.variables.secrets.empty();
}

// Says and returns what it begins from.
Result<std::string> SayWhereItBegins(Client& client, const Job& job) {
  const std::string& id = job.id;
  STOKER_ASSIGN(Ledger * ledger, client.ledger());
  Job next;
  next.retry_of = id;
  STOKER_ASSIGN(const RestorableRead found, ReadRestorable(*ledger, next, true));
  const std::string begins = ChooseRestore(next, found.generations);
  client.Say((begins.empty() ? "starts at " : "starts from ") + SayCheckpoint(begins) +
             (found.cut.empty() ? "" : " (" + found.cut + ")"));
  const auto left = NewerThanSaved(job);
  if (left && begins == JoinCheckpointName(id, left->than)) {
    client.Say("its program left " + LeftText(*left) + ": 'stoker run --from " + id + "/" +
               std::string(kAsLeft) + "' begins from that, whole or not");
  }
  return begins;
}

}  // namespace

Result<Submitted> Retry(Client& client, const RetryWish& wish) {
  const std::string& id = wish.job;
  STOKER_ASSIGN(Ledger * ledger, client.ledger());
  STOKER_ASSIGN(Controller * controller, client.controller());
  STOKER_ASSIGN(const PassResult pass, controller->Pass(id));
  if (!IsFinal(pass.job.state)) {
    return Status(Code::kInvalid,
                  "job " + id + " has not ended: it is " + std::string(Name(pass.job.state)),
                  "'stoker cancel " + id + "' stops it, 'stoker logs -f " + id + "' follows it");
  }
  STOKER_ASSIGN(const std::string text, ReadSpec(*ledger, pass.job));
  SubmitRequest request;
  request.before_record = wish.before_record;
  STOKER_ASSIGN(request.spec, ParseStoredSpec(text));
  const std::string image = request.spec.container.image;
  if (ChangesAnything(wish.changes)) {
    STOKER_ASSIGN(const GivenVariables given, ReadVariables(wish.changes.variables));
    STOKER_ASSIGN(request.spec, Changed(client, wish.changes, text, given));
    request.secret_values = given.secret_values;
  }
  STOKER_ASSIGN(const Labels said, SaidOf(*ledger, id));
  if (!wish.changes.flags.name && !said.name.empty()) request.spec.name = said.name;
  request.outlive = wish.outlive;
  // The same code, also when the folder has changed or is gone since.
  request.code_digest = pass.job.code_digest;
  request.code_note = pass.job.workdir_note;
  request.git = pass.job.git;
  request.pins = pass.job.pins;
  if (request.spec.container.image == image) {
    request.image = pass.job.image;
    request.image_bytes = pass.job.image_bytes;
    request.image_blob = pass.job.image_blob;
  }
  request.left_behind = pass.job.left_behind;
  request.line = {id};
  request.code_downloads = pass.job.downloads;
  if (!wish.fresh) {
    request.retry_of = id;
    STOKER_ASSIGN(request.line, LineOf(*ledger, pass.job));
  }
  // Before it is promised: whoever removes what was given up must not take it from now on.
  STOKER_TRY(SpareLine(client, request.line, "", UnreadLists::kTold));
  if (!wish.fresh) {
    STOKER_ASSIGN(request.promised, SayWhereItBegins(client, pass.job));
  }
  STOKER_ASSIGN(Job job, Submit(client, request));
  return Submitted{std::move(job), std::move(request.spec)};
}

}  // namespace stoker::client
