// SPDX-License-Identifier: Apache-2.0
#include "node/attempt/keepers.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "checkpoint/as_left.h"
#include "checkpoint/rule/episode.h"
#include "ledger/records.h"
#include "ledger/reports.h"
#include "sys/file.h"
#include "sys/watch/checkpoint_files.h"

namespace stoker::node {
namespace {

// Between looks for what is saved where nobody keeps it: twice as long each time.
constexpr Duration kStrayFirst = Duration::Seconds(5);
constexpr Duration kStrayUntil = Duration::Minutes(30);
constexpr int kStrayShare = 100;

// What of the program's words its owner would look into.
std::string ScriptOf(const JobSpec& spec) {
  std::string words = spec.argv.empty() ? spec.run : Join(spec.argv, " ");
  std::replace(words.begin(), words.end(), '\n', ' ');
  for (const std::string& word : Split(words, ' ')) {
    for (const char* ending : {".py", ".sh", ".jl", ".R"}) {
      if (EndsWith(word, ending)) return Printable(word.substr(word.rfind('/') + 1));
    }
  }
  return "the program";
}

}  // namespace

Result<bool> AttemptKeepers::MayCommit() const {
  const auto read = ReadJob(here_.ledger, here_.config.job.id);
  if (read.status().transient()) return read.status();
  if (!read.ok()) return read.code() != Code::kNotFound;
  const Launch* launch = FindLaunch(read->job, here_.config.launch);
  const Attempt* attempt = FindAttempt(read->job, here_.config.attempt);
  return launch != nullptr && !launch->closed && attempt != nullptr &&
         attempt->state != AttemptState::kEnded;
}

// The node of `rank` is lost, or has ended its part: nobody answers for it any more. An agent that
// died and was started again ends its part without knowing what its forerunner had.
bool AttemptKeepers::SilentForGood(int rank) const {
  const auto report = ReadReport(here_.ledger, here_.config.job.id, here_.config.attempt, rank);
  if (report.ok() && report->phase == NodePhase::kEnded) return true;
  const auto read = ReadJob(here_.ledger, here_.config.job.id);
  if (!read.ok()) return false;
  const Attempt* attempt = FindAttempt(read->job, here_.config.attempt);
  if (attempt == nullptr || static_cast<size_t>(rank) >= attempt->launches.size()) return true;
  const Launch* launch = FindLaunch(read->job, attempt->launches[static_cast<size_t>(rank)]);
  return launch == nullptr || launch->closed;
}

void AttemptKeepers::PlanOutputs() {
  plan_ = std::make_unique<OutputPlan>(here_.config.spec, here_.WorkDir(), here_.config.rank,
                                       here_.config.job.downloads);
  const Status begun = plan_->Begin();
  if (!begun.ok()) here_.log.Say("stoker: " + begun.WithContext("outputs").ToString());
}

Status AttemptKeepers::Begin(const std::string& restored) {
  const Status remembered = plan_->Remember();
  if (!remembered.ok()) here_.log.Say("stoker: " + remembered.WithContext("outputs").ToString());
  STOKER_TRY(metrics_.Begin(restored));
  return BeginCheckpoints(restored);
}

KeeperConfig AttemptKeepers::ConfigOf(const std::string& restored) {
  const AttemptConfig& mine = here_.config;
  KeeperConfig config;
  config.job = mine.job.id;
  config.attempt = mine.attempt;
  config.rank = mine.rank;
  config.num_nodes = mine.job.num_nodes;
  config.quiet = mine.spec.checkpoints.quiet;
  config.complete = mine.spec.checkpoints.complete;
  const std::string directory = here_.CheckpointDir();
  config.names = {directory, sys::RealPath(directory).value_or(directory),
                  mine.spec.checkpoints.path};
  config.keep = mine.spec.checkpoints.keep;
  // One of another job, or one that was left, lies in another place: it is kept anew.
  const bool own = restored.find('/') == std::string::npos;
  if (own && !IsAsLeft(restored)) config.restored = restored;
  config.began_from = {restored, ScriptOf(mine.spec), own};
  if (!config.restored.empty()) config.protect.insert(config.restored);
  config.nonce_seed = sys::RandomU64();
  config.may_commit = [this] { return MayCommit(); };
  config.silent_for_good = [this](int rank) { return SilentForGood(rank); };
  config.movers = here_.movers;
  config.say = [this](const std::string& line) { here_.log.Say("stoker: " + line); };
  return config;
}

Status AttemptKeepers::BeginCheckpoints(const std::string& restored) {
  CheckpointFilesOptions options;
  options.directory = here_.CheckpointDir();
  if (!sys::DirExists(options.directory)) {
    // Something else lies in its way, which staging has said.
    here_.log.Say("stoker: there is no checkpoint folder: what the program saves is not kept");
    options.directory = here_.config.dir + "/no-checkpoints";
    STOKER_TRY(sys::MakeDirs(options.directory, 0700));
  }
  options.staging = here_.config.dir + "/staging";
  options.told = here_.SavesFile();
  STOKER_TRY(sys::MakeDirs(here_.Spare(), 0700));
  if (!restored.empty()) {
    options.reads_of = [](const std::string& path) { return !IsStream(path); };
  }
  auto files = OpenCheckpointFiles(options, here_.clock);
  auto keeper =
      std::make_unique<CheckpointKeeper>(ConfigOf(restored), here_.store, here_.clock, *files);
  STOKER_TRY(keeper->Begin().WithContext("watching the checkpoint directory"));
  const std::lock_guard lock(mutex_);
  keeper_.reset();  // of a try that came to nothing later
  files_ = std::move(files);
  keeper_ = std::move(keeper);
  return Status::Ok();
}

// Early, and seldom then: a walk through the whole work directory. One that has saved where it is
// kept knows what it does.
void AttemptKeepers::LookForStray() {
  if (here_.config.attempt > 1 || here_.config.rank > 0 || stray_rest_ > kStrayUntil) return;
  const MonoTime begun = here_.clock.Mono();
  if (begun < stray_due_ || keeper_->written().any) return;
  const std::string told = plan_->stray().Look();
  const MonoTime now = here_.clock.Mono();
  stray_rest_ = std::max({kStrayFirst, stray_rest_ * 2, (now - begun) * kStrayShare});
  stray_due_ = now + stray_rest_;
  if (told.empty()) return;
  stray_rest_ = kStrayUntil * 2;
  here_.log.Say("stoker: " + told);
  const std::lock_guard lock(mutex_);
  stray_ = told;
}

void AttemptKeepers::Start(const std::shared_ptr<Task>& task,
                           std::function<void(const std::string& why)> broken) {
  files_->WatchTask([task] { return task->Processes(); });
  plan_->stray().Begin(here_.clock.Wall());
  threads_ = std::make_unique<KeeperThreads>(*keeper_, here_.clock, *files_);
  const AttemptConfig& config = here_.config;
  auto outputs = std::make_unique<OutputSync>(
      OutputSyncConfig{*plan_, config.job.id, config.attempt, config.rank, here_.WorkDir(),
                       config.dir + "/staging", here_.movers,
                       [this](const std::string& line) { here_.log.Say(line); },
                       [this] { LookForStray(); }},
      here_.store, here_.clock);
  metrics_.Start(std::move(broken));
  const std::lock_guard lock(mutex_);  // the report is written by another thread
  outputs_ = std::move(outputs);
}

void AttemptKeepers::Hurry() {
  const std::lock_guard lock(mutex_);
  if (keeper_) keeper_->Hurry();
}

std::optional<CheckpointKeeper::Written> AttemptKeepers::written() const {
  const std::lock_guard lock(mutex_);
  if (!keeper_) return std::nullopt;
  return keeper_->written();
}

Saving AttemptKeepers::saves() const {
  const std::lock_guard lock(mutex_);
  Saving saving;
  if (!keeper_) return saving;
  saving.longest = keeper_->written().longest_save;
  saving.upload = keeper_->upload_took();
  return saving;
}

std::string AttemptKeepers::newest() const {
  const std::lock_guard lock(mutex_);
  return keeper_ ? keeper_->newest() : "";
}

int64_t AttemptKeepers::saved() const {
  const std::lock_guard lock(mutex_);
  return (keeper_ ? keeper_->commits() : 0) + (outputs_ ? outputs_->uploaded() : 0);
}

std::string AttemptKeepers::Trouble(std::vector<std::string> lost, bool ended) const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> all;
  if (keeper_ && lost.empty()) all.push_back(keeper_->trouble());  // else it is in `lost`
  all.push_back(metrics_.trouble());
  if (outputs_) {
    all.push_back(outputs_->trouble());
    for (std::string& line : outputs_->left_out()) lost.push_back(std::move(line));
  }
  // Once it has ended, what is kept of it is told by the outputs.
  if (!stray_.empty() && !ended) lost.insert(lost.begin(), stray_);
  constexpr size_t kNamed = 20;  // the log names all
  lost.resize(std::min(lost.size(), kNamed));
  all.insert(all.end(), lost.begin(), lost.end());
  std::erase(all, "");
  return Join(all, "; ");
}

void AttemptKeepers::Complete(NodeReport& report) const {
  const std::lock_guard lock(mutex_);
  if (outputs_) report.missing_outputs = outputs_->missing();
  const std::string newest = keeper_ ? keeper_->newest() : "";
  if (!newest.empty()) report.newest_checkpoint = newest;
}

}  // namespace stoker::node
