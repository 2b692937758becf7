// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/context.h"
#include "cli/verb.h"
#include "controller/all_jobs.h"
#include "ledger/collect.h"
#include "ledger/index.h"

namespace stoker::cli {
namespace {

struct Options {
  std::string older_than;
  bool dry_run = false;
};

Result<std::optional<Duration>> Age(const Options& options) {
  if (options.older_than.empty()) return std::optional<Duration>();
  const auto age = ParseDuration(options.older_than);
  if (!age.ok()) return Status(Code::kUsage, "--older-than: " + age.status().message(), age.status().next());
  return std::optional<Duration>(*age);
}

Status Run(Context& context, const Options& options) {
  STOKER_ASSIGN(const std::optional<Duration> age, Age(options));
  STOKER_ASSIGN(Ledger * ledger, context.ledger());
  STOKER_ASSIGN(Controller * controller, context.controller());
  STOKER_ASSIGN(LocalProvider * local, context.local_provider());
  // First finish what is unfinished: a job whose end nobody noticed holds on to its blobs.
  if (!options.dry_run) STOKER_TRY(PassAll(*ledger, *controller).status());
  CollectRequest request;
  request.jobs_older_than = age;
  request.dry_run = options.dry_run;
  request.progress = [&](const std::string& what) { context.Progress(what); };
  STOKER_ASSIGN(const Collected collected, CollectGarbage(*ledger, request));
  STOKER_ASSIGN(const auto instances, options.dry_run ? local->Leftovers() : local->Sweep());
  if (context.json) {
    context.Print(nlohmann::json({{"jobs", collected.jobs}, {"blobs", collected.blobs},
                                  {"blob_bytes", collected.blob_bytes}, {"instances", instances},
                                  {"dry_run", options.dry_run}}).dump() + "\n");
    return Status::Ok();
  }
  const std::string would = options.dry_run ? "would remove " : "removed ";
  context.Print(would + std::to_string(collected.jobs.size()) + " jobs, " +
                std::to_string(collected.blobs) + " blobs (" + HumanSize(collected.blob_bytes) + "), " +
                std::to_string(instances.size()) + " left-over instances\n");
  if (!age) context.Say("ended jobs are kept; --older-than 90d removes those that ended before");
  return Status::Ok();
}

}  // namespace

Verb GcVerb() {
  auto options = std::make_shared<Options>();
  Verb verb;
  verb.name = "gc";
  verb.summary = "Clear away what nothing needs any more";
  verb.description =
      "Removes left-over instances of this computer and code archives that no job refers to and "
      "that are more than 30 days old; with --older-than also whole ended jobs with their logs, "
      "checkpoints and outputs.";
  verb.examples = {"stoker gc --dry-run", "stoker gc --older-than 90d"};
  verb.options = {{"--older-than", "Also remove jobs that ended longer ago than this", &options->older_than, "DURATION"},
                  {"--dry-run", "Only say what would go", &options->dry_run}};
  verb.run = [options](Context& context) { return Run(context, *options); };
  verb.options_owner = options;
  return verb;
}

}  // namespace stoker::cli
