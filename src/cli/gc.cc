// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/text.h"
#include "cli/context.h"
#include "cli/private_env.h"
#include "cli/sweep.h"
#include "cli/verb.h"
#include "controller/all_jobs.h"
#include "ledger/collect.h"
#include "ledger/index.h"
#include "ledger/records.h"
#include "sys/file.h"

namespace stoker::cli {
namespace {

struct Options {
  std::string older_than;
  bool dry_run = false;
};

Result<std::optional<Duration>> Age(const Options& options) {
  if (options.older_than.empty()) return std::optional<Duration>();
  const auto age = ParseDuration(options.older_than);
  if (!age.ok())
    return Status(Code::kUsage, "--older-than: " + age.status().message(), age.status().next());
  return std::optional<Duration>(*age);
}

constexpr Duration kBinaryAge = Duration::Hours(24 * 30);
constexpr Duration kPackingAge = Duration::Hours(24);

// Removes what lies in `folder` with this prefix, is older than `age` and not in `keep`.
int64_t ClearFolder(Context& context, const std::string& folder, const std::string& prefix,
                    Duration age, const std::set<std::string>& keep, bool dry_run) {
  const auto entries = sys::ListDir(folder);
  int64_t cleared = 0;
  for (const auto& entry : entries.ok() ? *entries : std::vector<sys::DirEntry>()) {
    struct stat st {};
    const std::string path = folder + "/" + entry.name;
    if (!StartsWith(entry.name, prefix) || keep.count(entry.name) > 0) continue;
    if (::lstat(path.c_str(), &st) != 0) continue;
    const WallTime changed{static_cast<int64_t>(st.st_mtim.tv_sec) * 1000};
    if (context.clock().Wall() - changed < age) continue;
    if (dry_run || sys::RemoveTree(path).ok()) ++cleared;
  }
  return cleared;
}

// Copies of stoker that machines were started from, and archives whose packing was broken off.
Result<int64_t> ClearCopies(Context& context, Ledger& ledger, bool dry_run) {
  std::set<std::string> used;
  STOKER_ASSIGN(const auto active, ActiveJobs(ledger));
  for (const std::string& id : active) {
    // One that cannot be read may use any of them.
    STOKER_ASSIGN(const JobRead read, ReadJob(ledger, id));
    used.insert(read.job.binary_digest);
  }
  const Places& places = context.places();
  return ClearFolder(context, places.state + "/bin", "", kBinaryAge, used, dry_run) +
         ClearFolder(context, places.cache, "stoker-pack-", kPackingAge, {}, dry_run) +
         ClearFolder(context, places.cache, "index-", kBinaryAge, {}, dry_run);
}

// What stood in the way of jobs that are not finished, by job.
using Unfinished = std::map<std::string, std::string>;

// First finish what is unfinished: a job whose end nobody noticed holds on to its blobs. Jobs that
// no list names any more are found again on the way.
Result<Unfinished> FinishJobs(Context& context, Ledger& ledger, Controller& controller) {
  STOKER_ASSIGN(const std::vector<std::string> hidden, FindHidden(ledger));
  if (!hidden.empty()) context.Say("found jobs that were in no list: " + Join(hidden, ", "));
  Unfinished unfinished;
  STOKER_TRY(
      PassAll(ledger, controller, [&](const std::string& id, const Result<PassResult>& pass) {
        if (!pass.ok() && !pass.status().Is(Code::kNotFound)) {
          unfinished[id] = pass.status().ToString();
        } else if (pass.ok() && pass->trouble) {
          unfinished[id] = pass->trouble->ToString();
        }
      }).status());
  return unfinished;
}

Status Run(Context& context, const Options& options) {
  STOKER_ASSIGN(const std::optional<Duration> age, Age(options));
  STOKER_ASSIGN(Ledger * ledger, context.ledger());
  STOKER_ASSIGN(Controller * controller, context.controller());
  STOKER_ASSIGN(LocalProvider * local, context.local_provider());
  Unfinished unfinished;
  if (!options.dry_run) {
    STOKER_ASSIGN(unfinished, FinishJobs(context, *ledger, *controller));
    ForgetPrivate(context);
  }
  for (const auto& [id, why] : unfinished) context.Say("job " + id + " is kept: " + why);
  if (!unfinished.empty()) context.exit_code = 1;
  CollectRequest request;
  request.jobs_older_than = age;
  request.dry_run = options.dry_run;
  request.progress = [&](const std::string& what) { context.Progress(what); };
  STOKER_ASSIGN(const Collected collected, CollectGarbage(*ledger, request));
  STOKER_ASSIGN(const auto instances, options.dry_run ? local->Leftovers() : local->Sweep());
  const int64_t uploads = SweepUploads(context, *ledger, options.dry_run);
  const auto copies = ClearCopies(context, *ledger, options.dry_run);
  if (!copies.ok()) context.Say("copies of stoker are kept: " + copies.status().ToString());
  const int64_t cleared = copies.ok() ? *copies : 0;
  if (context.json) {
    context.Print(nlohmann::json({{"jobs", collected.jobs},
                                  {"blobs", collected.blobs},
                                  {"blob_bytes", collected.blob_bytes},
                                  {"instances", instances},
                                  {"unfinished_uploads", uploads},
                                  {"copies", cleared},
                                  {"unfinished", unfinished},
                                  {"dry_run", options.dry_run}})
                      .dump() +
                  "\n");
    return Status::Ok();
  }
  const std::string would = options.dry_run ? "would remove " : "removed ";
  context.Print(would + std::to_string(collected.jobs.size()) + " jobs, " +
                std::to_string(collected.blobs) + " blobs (" + HumanSize(collected.blob_bytes) +
                "), " + std::to_string(instances.size()) + " left-over instances, " +
                std::to_string(cleared) + " unused copies" +
                (uploads > 0 ? ", " + std::to_string(uploads) + " unfinished uploads" : "") + "\n");
  if (!age)
    context.Say(
        "ended jobs are kept; --older-than 90d removes those that ended more than 90 days ago");
  return Status::Ok();
}

}  // namespace

Verb GcVerb() {
  auto options = std::make_shared<Options>();
  Verb verb;
  verb.name = "gc";
  verb.summary = "Clear away what is no longer needed";
  verb.description =
      "Clears away left-over machines and old copies of stoker on this computer, code archives "
      "older than 30 days that no job needs, and uploads (also of 'stoker sync' here) that were "
      "begun three days ago and never finished. With --older-than it also removes whole jobs that "
      "ended longer ago, with their logs, checkpoints and outputs.";
  verb.examples = {"stoker gc --dry-run", "stoker gc --older-than 90d"};
  verb.options = {{"--older-than", "Also remove jobs that ended longer ago than this",
                   &options->older_than, "DURATION"},
                  {"--dry-run", "Only say what would be removed", &options->dry_run}};
  verb.run = [options](Context& context) { return Run(context, *options); };
  verb.options_owner = options;
  return verb;
}

}  // namespace stoker::cli
