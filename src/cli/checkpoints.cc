// SPDX-License-Identifier: Apache-2.0

#include "base/json.h"
#include "base/text.h"
#include "checkpoint/checkpoint_store.h"
#include "cli/terminal/context.h"
#include "cli/terminal/table.h"
#include "cli/verb.h"
#include "cli/words/story.h"
#include "ledger/records.h"
#include "view/lineage.h"

namespace stoker::cli {
namespace {

struct CheckpointsOptions {
  std::string job = "-";
};

std::string State(const KnownCheckpoint& known) {
  if (!known.info.whole) return "damaged: " + Printable(known.info.why_not);
  if (ParseLeftOfNode(known.info.id)) return "as left, of one node";
  if (IsAsLeft(known.info.id)) return known.suspect ? "as left, suspect" : "as left";
  return known.suspect ? "suspect" : "whole";
}

void SayWhence(Context& context, const Job& job, const Lineage& lineage) {
  std::vector<std::string> others;
  for (const KnownCheckpoint& known : lineage.all) {
    if (known.of != job.id && (others.empty() || others.back() != known.of)) {
      others.push_back(known.of);
    }
  }
  if (!others.empty()) {
    context.Say("JOB/ID is a checkpoint of a job that this one goes on from: " +
                Join(others, ", "));
  }
  if (!lineage.cut.empty()) context.Say(lineage.cut);
}

Status Run(Context& context, const CheckpointsOptions& options) {
  STOKER_ASSIGN(const std::string id, context.ResolveJob(options.job));
  STOKER_ASSIGN(Ledger * ledger, context.ledger());
  STOKER_ASSIGN(const JobRead read, ReadJob(*ledger, id));
  STOKER_ASSIGN(const Lineage lineage, ReadLineage(*ledger, read.job));
  nlohmann::json out = nlohmann::json::array();
  std::vector<std::vector<std::string>> rows = {
      {"CHECKPOINT", "STEP", "AGE", "SIZE", "FILES", "NODES", "STATE"}};
  for (const KnownCheckpoint& known : lineage.all) {
    const CheckpointInfo& info = known.info;
    const bool readable = info.created.ms > 0;  // its manifest
    out.push_back(CheckpointJson(known));
    rows.push_back({known.name, info.step < 0 ? "" : std::to_string(info.step),
                    readable ? Ago(info.created, read.store_now) : "",
                    readable ? HumanSize(info.bytes) : "",
                    readable ? std::to_string(info.files) : "",
                    readable ? std::to_string(info.nodes) : "", State(known)});
  }
  if (context.json) {
    context.Print(out.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
    return Status::Ok();
  }
  if (lineage.all.empty()) {
    context.Say("job " + id + " has no checkpoint");
  } else {
    context.Print(FormatTable(rows));
  }
  SayWhence(context, read.job, lineage);
  return Status::Ok();
}

}  // namespace

Verb CheckpointsVerb() {
  auto options = std::make_shared<CheckpointsOptions>();
  Verb verb = VerbOf(options, Run);
  verb.name = "checkpoints";
  verb.summary = "List a job's checkpoints";
  verb.description =
      "Lists a job's checkpoints, newest first, and then those of the jobs it goes on from, as "
      "JOB/ID. Each is a complete set of files from one moment. 'stoker get JOB ID DIR' fetches "
      "one, 'stoker run --from JOB/ID' goes on from one.";
  verb.examples = {"stoker checkpoints digits", "stoker get digits 2-14 ./checkpoint"};
  verb.options = {{"JOB", "Which job ('-' = your last)", &options->job, ""}};
  return verb;
}

}  // namespace stoker::cli
