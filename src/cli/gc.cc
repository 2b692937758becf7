// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <optional>

#include "base/json.h"
#include "base/text.h"
#include "cli/terminal/context.h"
#include "cli/terminal/local_time.h"
#include "cli/verb.h"
#include "client/clear/gc.h"
#include "client/clear/removals.h"
#include "sys/file.h"

namespace stoker::cli {
namespace {

struct GcOptions {
  std::string older_than;
  bool dry_run = false;
  bool yes = false;
  bool all_regions = false;
};

Result<std::optional<Duration>> Age(const GcOptions& options) {
  if (options.older_than.empty()) return std::optional<Duration>();
  const auto age = ParseDuration(options.older_than);
  if (!age.ok())
    return Status(Code::kUsage, "--older-than: " + age.status().message(), age.status().next());
  return std::optional<Duration>(*age);
}

bool AnyTrouble(const std::vector<client::ProviderSweep>& sweeps) {
  return std::any_of(sweeps.begin(), sweeps.end(),
                     [](const client::ProviderSweep& one) { return !one.found.troubles.empty(); });
}

std::string Count(int64_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

// "2 jobs (ab12, cd34)"; without `what` "2 (ab12, cd34)".
std::string Some(const std::vector<std::string>& ids, const std::string& what = "") {
  constexpr size_t kNamed = 5;
  std::vector<std::string> named(ids.begin(), ids.begin() + std::min(ids.size(), kNamed));
  const std::string more =
      ids.size() > kNamed ? " and " + std::to_string(ids.size() - kNamed) + " more" : "";
  const auto count = static_cast<int64_t>(ids.size());
  return (what.empty() ? std::to_string(count) : Count(count, what)) + " (" + Join(named, ", ") +
         more + ")";
}

// What --older-than leaves, and why.
void TellKept(Context& context, const KeptJobs& kept, Duration age) {
  std::vector<std::string> parts;
  if (!kept.active.empty()) {
    parts.push_back(Some(kept.active) + " that have not ended, or whose machines are not gone yet");
  }
  if (!kept.young.empty()) {
    parts.push_back(Some(kept.young) + " that ended less than " + FormatDuration(age) + " ago");
  }
  std::vector<std::string> needed;
  for (const auto& [id, by] : kept.needed) needed.push_back(id + " for " + by);
  if (!needed.empty()) {
    parts.push_back(Some(needed) + " whose checkpoints another job may still begin from");
  }
  if (!kept.unreadable.empty()) {
    parts.push_back(Some(kept.unreadable) + " whose records cannot be read");
  }
  if (!parts.empty()) context.Say("kept jobs: " + Join(parts, "; "));
}

nlohmann::json ToJson(const client::Cleared& out, bool dry_run) {
  nlohmann::json unfinished = nlohmann::json::object();
  for (const auto& [id, why] : out.unfinished) unfinished[id] = why.ToString();
  const Collected& collected = out.collected;
  const KeptJobs& kept = collected.kept;
  const Doomed& doomed = collected.doomed;
  nlohmann::json waiting = nlohmann::json::object();
  for (const auto& [id, goes] : collected.waiting) waiting[id] = FormatRfc3339(goes);
  nlohmann::json unread = nlohmann::json::object();
  for (const OddKey& one : collected.removed.unread) unread[one.key] = one.why.ToString();
  return {{"jobs", collected.removed.jobs},
          {"job_bytes", collected.removed.job_bytes},
          {"blobs", collected.removed.blobs},
          {"blob_bytes", collected.removed.blob_bytes},
          {"doomed",
           {{"jobs", doomed.jobs},
            {"job_bytes", doomed.job_bytes},
            {"blobs", doomed.blobs},
            {"blob_bytes", doomed.blob_bytes},
            {"goes", doomed.goes ? nlohmann::json(FormatRfc3339(*doomed.goes)) : nullptr},
            {"failed", collected.not_doomed.ok() ? "" : collected.not_doomed.ToString()}}},
          {"waiting", waiting},
          {"stayed", collected.removed.needed},
          {"unread_lists", unread},
          {"left_over", collected.left_over},
          {"instances", out.instances},
          {"images", out.images},
          {"cloud", client::ToJson(out.held)},
          {"unfinished_uploads", out.uploads},
          {"unsaved", out.unsaved},
          {"work_places", out.work_places},
          {"copies", out.caches.copies + out.binaries},
          {"environments", out.caches.environments},
          {"kept_environments", out.envs.envs},
          {"kept_environment_bytes", out.envs.bytes},
          {"kept",
           {{"active", kept.active},
            {"young", kept.young},
            {"needed", kept.needed},
            {"unreadable", kept.unreadable}}},
          {"unfinished", unfinished},
          {"dry_run", dry_run}};
}

// All that carries the ledger's tag, with what it costs, so that nothing is forgotten.
void TellHeld(Context& context, const client::Cleared& out, bool dry_run) {
  for (const client::ProviderSweep& sweep : out.held) {
    const Sweeping& found = sweep.found;
    for (const auto* list : {&found.troubles, &found.forbidden}) {
      for (const std::string& trouble : *list) {
        context.Say(std::string(sweep.provider->title) + ": " + Printable(trouble));
      }
    }
    for (const Swept& one : found.things) {
      std::string text = client::HoldingLine(one.thing, found.now);
      if (!one.over.empty()) {
        const char* end = dry_run ? "; would be ended: " : "; ended: ";
        text += one.ended.ok() ? end + one.over : "; stays: " + one.ended.ToString();
      }
      context.Print(text + "\n");
    }
  }
}

// What goes later, and what may still be done about it.
void TellDoomed(Context& context, const Collected& collected, bool dry_run) {
  const Doomed& doomed = collected.doomed;
  std::vector<std::string> what;
  if (!doomed.jobs.empty()) {
    what.push_back(Some(doomed.jobs, "job") + ", " + HumanSize(doomed.job_bytes));
  }
  if (doomed.blobs > 0) {
    what.push_back(Count(doomed.blobs, "blob") + ", " + HumanSize(doomed.blob_bytes));
  }
  if (!what.empty()) {
    context.Say((dry_run ? "would go an hour later: "
                         : "goes after " + LocalTime(*doomed.goes) +
                               ", with the next 'stoker gc' or 'stoker controller': ") +
                Join(what, "; ") +
                (doomed.jobs.empty()
                     ? ""
                     : ". Until then 'stoker retry JOB' and 'stoker run --from JOB' "
                       "keep a job; 'stoker rm --now JOB' removes one at once"));
  }
  std::vector<std::string> waiting;
  WallTime last;
  for (const auto& [id, goes] : collected.waiting) {
    waiting.push_back(id);
    last = std::max(last, goes);
  }
  if (!waiting.empty()) {
    context.Say("to be removed already: " + Some(waiting, "job") + ", by " + LocalTime(last));
  }
  if (!collected.not_doomed.ok()) {
    context.Say("whole jobs and blobs are kept: " + collected.not_doomed.ToString() +
                ". 'stoker rm --now JOB' removes a job at once, and needs no room");
  }
  if (!collected.blind.empty()) {
    context.Say("records that cannot be read: " + Some(collected.blind, "job") +
                ", each of which may need any other, so no whole job is removed. Put back an older "
                "version of records/JOB.json, or update stoker where it is of a newer one; "
                "docs/bucket-layout.md says how to give up such a job");
  }
}

void Tell(Context& context, const client::Cleared& out, const CollectRequest& request) {
  const Collected& collected = out.collected;
  const Removed& removed = collected.removed;
  std::string text = request.dry_run ? "would remove " : "removed ";
  text += Count(static_cast<int64_t>(removed.jobs.size()), "job");
  if (!removed.jobs.empty()) text += " (" + HumanSize(removed.job_bytes) + ")";
  text += ", " + Count(removed.blobs, "blob") + " (" + HumanSize(removed.blob_bytes) + "), " +
          Count(static_cast<int64_t>(out.instances.size()), "left-over instance") + ", " +
          std::to_string(out.caches.copies + out.binaries) + " unused copies";
  if (!collected.left_over.empty()) {
    text += ", what " + Count(static_cast<int64_t>(collected.left_over.size()), "submit") +
            " left that died (" + HumanSize(collected.left_over_bytes) + ")";
  }
  if (out.caches.environments > 0) {
    text += ", " + Count(out.caches.environments, "Python environment") + " unused for 30 days";
  }
  if (out.envs.envs + out.envs.parts > 0) {
    text += ", " + Count(out.envs.envs, "kept environment") + " of the store (" +
            HumanSize(out.envs.bytes) + ") unused for 30 days";
  }
  if (!out.images.empty()) {
    text += ", " + Count(static_cast<int64_t>(out.images.size()), "image") +
            " of containers unused for 30 days";
  }
  if (out.uploads > 0) text += ", " + Count(out.uploads, "unfinished upload");
  if (out.unsaved > 0) {
    text += ", " + Count(out.unsaved, "folder") + " of files that no store had room for";
  }
  if (out.work_places > 0) {
    text += ", " + Count(out.work_places, "work folder") + " of machines that are gone";
  }
  context.Print(text + "\n");
  for (const std::string& image : out.images) {
    context.Print(image + (request.dry_run ? ": would be removed\n" : ": removed\n"));
  }
  client::TellStayed(context, removed);
  TellDoomed(context, collected, request.dry_run);
  TellHeld(context, out, request.dry_run);
  const std::string folder = client::UnsavedFolder(context);
  const auto left = sys::ListDir(folder);
  if (left.ok() && !left->empty()) {
    context.Say("files that no store had room for lie in " + folder +
                ", each folder until it is 30 days old: " +
                Count(static_cast<int64_t>(left->size()), "folder"));
  }
  if (request.jobs_older_than) return TellKept(context, collected.kept, *request.jobs_older_than);
  context.Say(
      "ended jobs are kept; --older-than 90d removes those that ended more than 90 days ago");
}

// Whole jobs go only when somebody has seen how many, or said so before.
Status AskFirst(Context& context, const CollectRequest& request, bool yes) {
  if (!request.jobs_older_than || request.dry_run || yes) return Status::Ok();
  STOKER_ASSIGN(const Collected would, client::WouldCollect(context, request));
  const Doomed& doomed = would.doomed;
  if (doomed.jobs.empty()) return Status::Ok();
  const std::string what = Count(static_cast<int64_t>(doomed.jobs.size()), "job") + ", " +
                           HumanSize(doomed.job_bytes) + " of logs, checkpoints and outputs";
  context.Say("older than " + FormatDuration(*request.jobs_older_than) + ": " + Some(doomed.jobs));
  if (context.Confirm("This removes " + what + ", in an hour. Go on?")) return Status::Ok();
  return Status(Code::kUsage, "--older-than would remove " + what + ": nothing was done",
                "Look with --dry-run; if you mean it, add --yes");
}

Status Run(Context& context, const GcOptions& options) {
  STOKER_ASSIGN(const std::optional<Duration> age, Age(options));
  CollectRequest request;
  request.jobs_older_than = age;
  request.dry_run = options.dry_run;
  request.by = context.user();
  request.progress = [&](const std::string& what) { context.Progress(what); };
  STOKER_TRY(AskFirst(context, request, options.yes));
  STOKER_ASSIGN(const client::Cleared out, client::ClearAll(context, request, options.all_regions));
  for (const auto& [id, why] : out.unfinished) {
    context.Say("job " + id + " is kept: " + why.ToString());
  }
  if (!out.unfinished.empty() || !out.collected.removed.index.ok() ||
      !out.collected.not_doomed.ok() || AnyTrouble(out.held)) {
    context.exit_code = 1;
  }
  if (context.json) {
    context.Print(ToJson(out, options.dry_run).dump() + "\n");
  } else {
    Tell(context, out, request);
  }
  return Status::Ok();
}

}  // namespace

Verb GcVerb() {
  auto options = std::make_shared<GcOptions>();
  Verb verb = VerbOf(options, Run);
  verb.name = "gc";
  verb.summary = "Clear away what is no longer needed";
  verb.description =
      "Clears away what is no longer needed. On this computer: machines that are over, old "
      "copies of stoker, Python environments (and uv) that no job has used for 30 days, images "
      "that "
      "stoker has built or loaded, or pulled for apptainer, and of which no container has begun "
      "for "
      "30 days (on boxes, too), what "
      "submits "
      "that died a day ago left, and files that no store had room for 30 days ago. In the "
      "store: code archives older than 30 days that no job needs, Python environments with which "
      "no "
      "job has begun for 30 days, and uploads (also of 'stoker "
      "sync' here) that were begun three days ago and never finished. In a cloud: what carries "
      "this ledger's tag and is over, since its record has ended it or its stoker-expires is "
      "past; gc lists the rest with age and price, in every place that the ledger has noted. "
      "With --older-than gc also removes whole jobs that ended longer ago, with their logs, "
      "checkpoints and outputs. It keeps jobs that have not ended, jobs whose checkpoints "
      "another job may still begin from, and all jobs where a record cannot be read; it says "
      "which and why. gc asks before it removes jobs, and needs --yes where there is no "
      "terminal. Jobs and archives go in two steps: gc writes down which, and an hour later the "
      "next 'stoker gc' or 'stoker controller' removes them. Until then 'stoker retry' and "
      "'stoker run --from' take a job off the list. On a full disk, 'stoker rm --now' removes a "
      "job.";
  verb.examples = {"stoker gc --dry-run", "stoker gc --older-than 90d",
                   "stoker gc --older-than 90d --yes"};
  verb.options = {{"--older-than", "Also remove jobs that ended longer ago than this",
                   &options->older_than, "DURATION"},
                  {"--all-regions", "Look in all regions of EC2, not only in those that were noted",
                   &options->all_regions},
                  {"--dry-run", "Only say what would be removed", &options->dry_run},
                  {"-y,--yes", "Remove jobs without asking", &options->yes}};
  return verb;
}

}  // namespace stoker::cli
