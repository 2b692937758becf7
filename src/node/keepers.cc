// SPDX-License-Identifier: Apache-2.0
// The part of an attempt that keeps work: checkpoints and outputs.
#include <algorithm>

#include "ledger/records.h"
#include "ledger/reports.h"
#include "node/attempt_run.h"
#include "sync/checkpoint_store.h"
#include "sys/checkpoint_files.h"
#include "sys/file.h"

namespace stoker::node {
namespace {

// With no notice in sight the uploads may take their time; the machine is paid for either way.
constexpr Duration kFinalSyncWithin = Duration::Minutes(30);

}  // namespace

// `id` is "<attempt>-<seq>", or "<job>/<attempt>-<seq>" for a retry of another job.
Status AttemptRun::RestoreCheckpoint(const std::string& id, StagingEnded* result) {
  restored_.clear();
  if (id.empty()) return Status::Ok();
  const size_t slash = id.find('/');
  const std::string job = slash == std::string::npos ? config_.job.id : id.substr(0, slash);
  const std::string checkpoint = slash == std::string::npos ? id : id.substr(slash + 1);
  Say("stoker: restoring checkpoint " + id);
  STOKER_ASSIGN(const auto writer, OpenDirectoryWriter(CheckpointDir()));
  const Status restored =
      stoker::RestoreCheckpoint(store_, job, checkpoint, config_.rank, *writer, movers_);
  result->restored = id;
  if (!restored.ok()) {
    if (BlamesCheckpoint(restored)) result->restore_error = restored.ToString();
    return restored.WithContext("restoring checkpoint " + id);
  }
  restored_ = id;
  return Status::Ok();
}

// An attempt that is over, or whose machine was given up, must not add to what others restore.
Result<bool> AttemptRun::MayCommit() {
  const auto read = ReadJob(ledger_, config_.job.id);
  if (read.status().transient()) return read.status();
  if (!read.ok()) return read.code() != Code::kNotFound;
  const Launch* launch = FindLaunch(read->job, config_.launch);
  const Attempt* attempt = FindAttempt(read->job, config_.attempt);
  return launch != nullptr && !launch->closed && attempt != nullptr &&
         attempt->state != AttemptState::kEnded;
}

// The node of `rank` is lost, or has ended its part: nobody answers for it any more. An agent that
// died and was started again ends its part without knowing what its forerunner had.
bool AttemptRun::SilentForGood(int rank) {
  const auto report = ReadReport(ledger_, config_.job.id, config_.attempt, rank);
  if (report.ok() && report->phase == NodePhase::kEnded) return true;
  const auto read = ReadJob(ledger_, config_.job.id);
  if (!read.ok()) return false;
  const Attempt* attempt = FindAttempt(read->job, config_.attempt);
  if (attempt == nullptr || static_cast<size_t>(rank) >= attempt->launches.size()) return true;
  const Launch* launch = FindLaunch(read->job, attempt->launches[static_cast<size_t>(rank)]);
  return launch == nullptr || launch->closed;
}

Status AttemptRun::BeginKeepers() {
  CheckpointFilesOptions options;
  options.directory = CheckpointDir();
  options.staging = config_.dir + "/staging";
  STOKER_TRY(sys::MakeDirs(options.staging, 0700));
  auto files = OpenCheckpointFiles(options, clock_);
  KeeperConfig config;
  config.job = config_.job.id;
  config.attempt = config_.attempt;
  config.rank = config_.rank;
  config.num_nodes = config_.job.num_nodes;
  config.quiet = config_.spec.checkpoints.quiet;
  config.keep = config_.spec.checkpoints.keep;
  // A checkpoint of another job lies in another place: it is kept anew.
  if (restored_.find('/') == std::string::npos) config.restored = restored_;
  if (!config.restored.empty()) config.protect.insert(config.restored);
  config.nonce_seed = sys::RandomU64();
  config.may_commit = [this] { return MayCommit(); };
  config.silent_for_good = [this](int rank) { return SilentForGood(rank); };
  config.movers = movers_;
  config.say = [this](const std::string& line) { Say("stoker: " + line); };
  auto keeper = std::make_unique<CheckpointKeeper>(std::move(config), store_, clock_, *files);
  STOKER_TRY(keeper->Begin().WithContext("watching the checkpoint directory"));
  const std::lock_guard lock(mutex_);
  keeper_.reset();  // of a try that came to nothing later
  files_ = std::move(files);
  keeper_ = std::move(keeper);
  return Status::Ok();
}

void AttemptRun::StartKeepers() {
  files_->WatchTask([this]() -> std::vector<int> {
    std::shared_ptr<Task> task;
    {
      const std::lock_guard lock(mutex_);
      task = task_;
    }
    return task ? task->Processes() : std::vector<int>();
  });
  keeper_threads_ = std::make_unique<KeeperThreads>(*keeper_, clock_, *files_);
  auto outputs = std::make_unique<OutputSync>(
      OutputSyncConfig{*output_plan_, config_.job.id, config_.attempt, config_.rank, WorkDir(),
                       config_.dir + "/staging", movers_,
                       [this](const std::string& line) { Say(line); }},
      store_, clock_);
  const std::lock_guard lock(mutex_);  // the report is written by another thread
  outputs_ = std::move(outputs);
}

Status AttemptRun::FinalSync(const FinalizeAttempt& action) {
  if (!keeper_threads_) return Status::Ok();
  const MonoTime deadline = action.deadline.value_or(clock_.Mono() + kFinalSyncWithin);
  const Status checkpoint = FinalCheckpoint(deadline).WithContext("the last checkpoint");
  // Outputs of a run that failed or was taken are kept too: they say what happened.
  const Status outputs =
      outputs_ ? outputs_->Finish(deadline).WithContext("the last outputs") : Status::Ok();
  return checkpoint.ok() ? outputs : checkpoint;
}

// In pieces, as somebody may lose patience meanwhile.
Status AttemptRun::FinalCheckpoint(MonoTime deadline) {
  for (;;) {
    const MonoTime now = clock_.Mono();
    const Status done = keeper_threads_->FinalSync(std::min(deadline, now + Duration::Seconds(1)));
    if (!done.Is(Code::kTimeout) || clock_.Mono() >= deadline || hurried_) return done;
  }
}

void AttemptRun::GiveUp() {
  std::vector<std::string> lost;
  if (keeper_ && keeper_threads_ && !keeper_->Finished()) {
    const std::string why = keeper_->trouble();
    lost.push_back("what was saved last is in no checkpoint" + (why.empty() ? "" : ": " + why));
    Say("stoker: " + lost.back());
  }
  {
    const std::lock_guard lock(mutex_);
    lost_ = lost;
  }
  if (outputs_) outputs_->GiveUp();
  Say("stoker: gave up saving what is left");
  if (log_) (void)log_->ShipAll(Duration::Ms(200));
}

int64_t AttemptRun::saved() const {
  return (keeper_ ? keeper_->commits() : 0) + (outputs_ ? outputs_->uploaded() : 0);
}

std::string AttemptRun::NewestCheckpoint() const { return keeper_ ? keeper_->newest() : ""; }

std::string AttemptRun::KeeperTrouble() const {
  std::string trouble = keeper_ ? keeper_->trouble() : "";
  const std::string more = outputs_ ? outputs_->trouble() : "";
  if (!more.empty()) trouble += (trouble.empty() ? "" : "; ") + more;
  std::vector<std::string> lost = lost_;
  if (outputs_) {
    for (std::string& line : outputs_->left_out()) lost.push_back(std::move(line));
  }
  constexpr size_t kNamed = 20;  // the log names all
  for (size_t i = 0; i < lost.size() && i < kNamed; ++i) {
    trouble += (trouble.empty() ? "" : "; ") + lost[i];
  }
  return trouble;
}

}  // namespace stoker::node
