// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/context.h"
#include "cli/story.h"
#include "cli/table.h"
#include "cli/verb.h"
#include "ledger/records.h"
#include "sync/checkpoint_store.h"

namespace stoker::cli {
namespace {

struct Options {
  std::string job = "-";
};

Status Run(Context& context, const Options& options) {
  STOKER_ASSIGN(const std::string id, context.ResolveJob(options.job));
  STOKER_ASSIGN(Ledger * ledger, context.ledger());
  STOKER_ASSIGN(const JobRead read, ReadJob(*ledger, id));
  STOKER_ASSIGN(const auto all, ListCheckpoints(ledger->store(), id));
  const auto& suspects = read.job.suspects;
  nlohmann::json out = nlohmann::json::array();
  std::vector<std::vector<std::string>> rows = {
      {"CHECKPOINT", "STEP", "AGE", "SIZE", "FILES", "NODES", "STATE"}};
  for (const CheckpointInfo& info : all) {
    const bool suspect = std::find(suspects.begin(), suspects.end(), info.id) != suspects.end();
    out.push_back({{"id", info.id},
                   {"attempt", info.attempt},
                   {"seq", info.seq},
                   {"step", info.step < 0 ? nlohmann::json(nullptr) : nlohmann::json(info.step)},
                   {"bytes", info.bytes},
                   {"files", info.files},
                   {"nodes", info.nodes},
                   {"created", FormatRfc3339(info.created)},
                   {"recognised_by", info.reason},
                   {"whole", info.whole},
                   {"why_not", info.why_not},
                   {"suspect", suspect}});
    rows.push_back({info.id, info.step < 0 ? "" : std::to_string(info.step),
                    Ago(info.created, read.store_now), HumanSize(info.bytes),
                    std::to_string(info.files), std::to_string(info.nodes),
                    !info.whole ? "damaged: " + Printable(info.why_not)
                    : suspect   ? "suspect"
                                : "whole"});
  }
  if (context.json) {
    context.Print(out.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  } else if (all.empty()) {
    context.Say("job " + id + " has no checkpoint");
  } else {
    context.Print(FormatTable(rows));
  }
  return Status::Ok();
}

}  // namespace

Verb CheckpointsVerb() {
  auto options = std::make_shared<Options>();
  Verb verb;
  verb.name = "checkpoints";
  verb.summary = "List a job's checkpoints";
  verb.description =
      "Lists the checkpoints of a job that are committed, newest first: complete sets of files, of "
      "one moment. 'stoker get JOB CHECKPOINT DIR' fetches one.";
  verb.examples = {"stoker checkpoints digits", "stoker get digits 2-14 ./checkpoint"};
  verb.options = {{"JOB", "Which job ('-' = your last)", &options->job, ""}};
  verb.run = [options](Context& context) { return Run(context, *options); };
  verb.options_owner = options;
  return verb;
}

}  // namespace stoker::cli
