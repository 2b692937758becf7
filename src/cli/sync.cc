// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <thread>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "base/utf8.h"
#include "cli/terminal/context.h"
#include "cli/verb.h"
#include "client/fetch/sync.h"
#include "client/fetch/sync_guard.h"

namespace stoker::cli {
namespace {

struct SyncOptions {
  client::SyncWish wish;
  std::vector<std::string> include;
  std::vector<std::string> exclude;
  int jobs = 64;
  std::string memory = "256MiB";
};

constexpr int kMostHands = 512;
constexpr int64_t kPerJob = int64_t{2} << 20;  // a buffer, and what a request holds
// What the program itself and its connections take besides the buffers.
constexpr int64_t kBesides = int64_t{64} << 20;
constexpr int64_t kLeastMemory = int64_t{96} << 20;
constexpr size_t kMostNamed = 20;

Result<TransferOptions> OptionsOf(const SyncOptions& options) {
  TransferOptions out;
  if (options.jobs < 1 || options.jobs > kMostHands) {
    return Status(Code::kUsage, "--jobs: 1 to " + std::to_string(kMostHands) + " are possible");
  }
  const auto memory = ParseSize(options.memory);
  if (!memory.ok()) {
    return Status(Code::kUsage, "--memory: " + memory.status().message(), memory.status().next());
  }
  if (*memory < kLeastMemory) {
    return Status(Code::kUsage, "--memory: less than " + HumanSize(kLeastMemory) +
                                    " is not enough for the program itself");
  }
  out.memory = *memory - kBesides;
  out.workers = static_cast<int>(std::min<int64_t>(options.jobs, out.memory / kPerJob));
  // As many as can be at work here; a wire that is far away asks for more soon.
  out.first_workers = std::max(2, static_cast<int>(std::thread::hardware_concurrency()));
  return out;
}

void Name(Context& context, const std::vector<OddKey>& odd, const std::string& what) {
  for (size_t i = 0; i < std::min(odd.size(), kMostNamed); ++i) {
    context.Say(what + " " + Spelled(odd[i].key) + ": " + odd[i].why.ToString());
  }
  if (odd.size() > kMostNamed) {
    context.Say(what + ": " + std::to_string(odd.size() - kMostNamed) + " more");
  }
}

nlohmann::json Named(const std::vector<OddKey>& odd) {
  nlohmann::json all = nlohmann::json::array();
  for (const OddKey& each : odd) {
    all.push_back({{"path", Spelled(each.key)}, {"error", each.why.ToString()}});
  }
  return all;
}

// What was not copied, and why.
std::string LeftText(const SyncPlan& plan) {
  std::string text;
  if (plan.newer > 0) text = "; " + std::to_string(plan.newer) + " left for being newer in DST";
  if (plan.left_out > 0) text += "; " + std::to_string(plan.left_out) + " left out by the filters";
  if (!plan.skipped.empty()) text += "; " + std::to_string(plan.skipped.size()) + " skipped";
  return text;
}

void ShowPlan(Context& context, const SyncPlan& plan) {
  if (context.json) {
    nlohmann::json copy = nlohmann::json::array();
    for (const ObjectInfo& file : plan.copy) {
      copy.push_back({{"path", Spelled(file.key)}, {"bytes", file.size}});
    }
    nlohmann::json remove = nlohmann::json::array();
    for (const std::string& key : plan.remove) remove.push_back(Spelled(key));
    nlohmann::json modes = nlohmann::json::array();
    for (const ObjectInfo& file : plan.modes) modes.push_back(Spelled(file.key));
    context.Print(nlohmann::json({{"dry_run", true},
                                  {"copy", copy},
                                  {"bytes", plan.copy_bytes},
                                  {"remove", remove},
                                  {"modes", modes},
                                  {"same", plan.same},
                                  {"left_out", plan.left_out},
                                  {"newer", plan.newer},
                                  {"skipped", Named(plan.skipped)},
                                  {"failed", Named(plan.refused)}})
                      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) +
                  "\n");
    return;
  }
  std::string text;
  for (const ObjectInfo& file : plan.copy) {
    text += "copy    " + Spelled(file.key) + "  " + HumanSize(file.size) + "\n";
  }
  for (const std::string& key : plan.remove) text += "remove  " + Spelled(key) + "\n";
  for (const ObjectInfo& file : plan.modes) {
    text += (file.executable ? "chmod+x " : "chmod-x ") + Spelled(file.key) + "\n";
  }
  context.Print(text + "would copy " + HumanFiles(static_cast<int64_t>(plan.copy.size())) + " (" +
                HumanSize(plan.copy_bytes) + ") and remove " + std::to_string(plan.remove.size()) +
                "; " + HumanFiles(plan.same) + (plan.same == 1 ? " is the same" : " are the same") +
                LeftText(plan) + "\n");
}

void ShowReport(Context& context, const SyncPlan& plan, const TransferReport& report,
                Duration spent) {
  if (context.json) {
    context.Print(nlohmann::json({{"files", report.files},
                                  {"bytes", report.bytes},
                                  {"kept_bytes", report.kept_bytes},
                                  {"same", plan.same},
                                  {"left_out", plan.left_out},
                                  {"newer", plan.newer},
                                  {"removed", report.removed},
                                  {"modes", report.modes},
                                  {"skipped", Named(plan.skipped)},
                                  {"failed", Named(report.failed)},
                                  {"seconds", spent.seconds()}})
                      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) +
                  "\n");
    return;
  }
  std::string text = "copied " + HumanFiles(report.files) + " (" + HumanSize(report.bytes) +
                     " in " + HumanDuration(spent) + ", " + HumanRate(report.bytes, spent) + ")";
  if (report.kept_bytes > 0) {
    text += "; " + HumanSize(report.kept_bytes) + " were there from an earlier run";
  }
  if (report.removed > 0) text += "; removed " + std::to_string(report.removed);
  if (report.modes > 0) {
    text += "; changed the executable bit of " + std::to_string(report.modes);
  }
  context.Print(text + "; " + std::to_string(plan.same) +
                (plan.same == 1 ? " was the same" : " were the same") + LeftText(plan) + "\n");
}

// A failed file is no failed command line: the others were copied.
void ShowTrouble(Context& context, const SyncPlan& plan, const TransferReport& report) {
  Name(context, plan.skipped, "skipped");
  Name(context, report.failed, "failed:");
  if (report.remove_skipped) context.Say("nothing was removed, because not everything was copied");
  if (plan.incomplete) context.Say("nothing was removed, because not everything could be read");
  if (report.failed.empty()) return;
  context.exit_code = 1;
  context.Say(std::to_string(report.failed.size()) + " of " +
              HumanFiles(static_cast<int64_t>(plan.copy.size() + plan.refused.size() +
                                              (report.remove_skipped ? 0 : plan.remove.size()))) +
              " failed; give the same command again to go on with them");
}

std::vector<client::FilterRule> RulesOf(const Context& context, const SyncOptions& options) {
  std::vector<client::FilterRule> rules;
  size_t included = 0;
  size_t excluded = 0;
  for (const std::string& name : context.given) {
    if (name == "--include") rules.push_back({true, options.include[included++]});
    if (name == "--exclude") rules.push_back({false, options.exclude[excluded++]});
  }
  return rules;
}

Status Run(Context& context, const SyncOptions& options) {
  client::SyncWish wish = options.wish;
  STOKER_ASSIGN(wish.how, OptionsOf(options));
  wish.rules = RulesOf(context, options);
  STOKER_ASSIGN(const client::Synced done, client::Sync(context, wish));
  if (wish.dry_run) {
    ShowPlan(context, done.plan);
    Name(context, done.plan.skipped, "skipped");
    Name(context, done.plan.refused, "cannot be copied:");
  } else {
    ShowReport(context, done.plan, done.report, done.spent);
    ShowTrouble(context, done.plan, done.report);
  }
  if (done.nothing.ok() || !context.json) return done.nothing;
  context.Say(done.nothing.ToString());
  context.exit_code = 1;  // what is printed has the entries
  return Status::Ok();
}

}  // namespace

Verb SyncVerb() {
  auto options = std::make_shared<SyncOptions>();
  Verb verb = VerbOf(options, Run);
  verb.name = "sync";
  verb.summary = "Copy what differs between folders and buckets";
  verb.description =
      "Copies what differs from SRC to DST: folders or buckets (s3:// or gs://), in any "
      "combination. What differs is copied also where DST is newer, as rsync does it; --update "
      "leaves that (in a bucket, by the time of its upload). Large files go in several parts at "
      "once. If a sync was killed, give the same command again and it goes on where it stopped. A "
      "link to a file inside SRC is copied as that file; other links are left out and listed. "
      "Files keep their modification times and whether they can be run, but not their owners and "
      "other permissions. Patterns work as in aws-cli: they match the whole path below SRC, and "
      "'*' also matches '/'. If SRC is one file or object, it is put into DST.";
  verb.examples = {"stoker sync ./data s3://bucket/data", "stoker sync s3://bucket/data ./data",
                   "stoker sync ./runs s3://bucket/runs --exclude '*.tmp' --delete --dry-run"};
  verb.options = {
      {"SRC", "A folder, a file, s3:// or gs://bucket/prefix or object", &options->wish.source, "",
       true},
      {"DST", "A folder, s3:// or gs://bucket/prefix", &options->wish.target, "", true},
      {"--delete", "Remove from DST what SRC does not have", &options->wish.remove},
      {"-u,--update", "Leave files that are newer in DST", &options->wish.update},
      {"--allow-empty", "Let SRC be empty; --delete then empties DST", &options->wish.allow_empty},
      {"--yes",
       "Let --delete remove more than half of DST unasked; needed only where DST has more than 100 "
       "files",
       &options->wish.yes},
      {"--delete-in", "Let --delete work in a place of this kind", &options->wish.delete_in, "",
       false, client::kDeleteIn},
      {"--dry-run", "Only say what would be copied and removed", &options->wish.dry_run},
      {"--exclude", "Leave out what matches; the last match counts", &options->exclude, "PATTERN"},
      {"--include", "Take it after all: --exclude '*' --include '*.py'", &options->include,
       "PATTERN"},
      {"--jobs", "At most N files and parts at once", &options->jobs, "N"},
      {"--memory", "At most this much memory", &options->memory, "SIZE"}};
  return verb;
}

}  // namespace stoker::cli
