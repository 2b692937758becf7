// SPDX-License-Identifier: Apache-2.0
#include "sim/node/node_attempt.h"

#include <algorithm>
#include <utility>

#include "checkpoint/as_left.h"
#include "checkpoint/checkpoint_store.h"
#include "job/checkpoint_name.h"
#include "ledger/blobs.h"
#include "ledger/log/log_segments.h"
#include "ledger/records.h"
#include "ledger/reports.h"
#include "policy/drain.h"

namespace stoker::sim {
namespace {

constexpr Duration kFinalSyncWithin = Duration::Minutes(30);
constexpr int64_t kLongestSleep = 60'000;
constexpr Duration kBesideWhole = Duration::Seconds(15);

}  // namespace

NodeAttempt::NodeAttempt(Host& host, Process& process, BucketClient& store, Ledger& ledger,
                         const JobSpec& spec, const Job& job, int attempt, int rank)
    : host_(host),
      process_(process),
      store_(store),
      ledger_(ledger),
      spec_(spec),
      job_(job),
      attempt_(attempt),
      rank_(rank),
      shipper_bell_(host.world.scheduler()),
      upload_bell_(host.world.scheduler()) {}

NodeAttempt::~NodeAttempt() = default;

void NodeAttempt::DropProgram() { program_.reset(); }

void NodeAttempt::Close() {
  DropProgram();
  closed_ = true;
  shipper_bell_.Notify();
  upload_bell_.Notify();
  if (files_) files_->Wake();
}

// ---- lines ----

Status NodeAttempt::OpenLog() {
  if (!host_.world.plan().logs || spool_) return Status::Ok();
  auto folder = host_.disk.OpenSpool(std::to_string(attempt_));
  STOKER_ASSIGN(auto spool,
                LogSpool::Open(std::move(folder), host_.clock, [this] { shipper_bell_.Notify(); }));
  if (spool->counters().records == 0) {
    STOKER_ASSIGN(const int64_t end, StoredLogEnd(store_, job_.id, attempt_, rank_));
    spool->SkipTo(end);
  }
  spool_ = std::move(spool);
  shipper_ = std::make_unique<LogShipper>(store_, host_.clock, *spool_,
                                          LogPlace{job_.id, attempt_, rank_});
  process_.Spawn([this] { RunShipper(); });
  return Status::Ok();
}

void NodeAttempt::RunShipper() {
  while (!closed_) {
    const std::optional<MonoTime> spool_due = spool_->Tick();
    std::optional<MonoTime> next = shipper_->Step();
    if (spool_due && (!next || *spool_due < *next)) next = spool_due;
    const int64_t wait = next ? (*next - host_.clock.Mono()).ms : kLongestSleep;
    shipper_bell_.Wait(std::clamp<int64_t>(wait, 0, kLongestSleep));
  }
}

Status NodeAttempt::ShipAll(MonoTime deadline) {
  if (!spool_) return Status::Ok();
  spool_->FlushPartials();
  shipper_->SetEnding();
  shipper_bell_.Notify();
  int64_t pause = 20;
  while (!shipper_->AllShipped()) {
    if (host_.clock.Mono() >= deadline) return Status(Code::kTimeout, "lines are not in the store");
    Sleep(pause);
    pause = std::min<int64_t>(pause + 10, 1'000);
    shipper_bell_.Notify();
  }
  return Status::Ok();
}

// ---- staging ----

StagingEnded NodeAttempt::Stage(const std::string& restore) {
  StagingEnded result;
  for (int64_t pause = 100;; pause = std::min<int64_t>(pause * 2, 5000)) {
    result.status = TryStage(restore, &result);
    if (result.status.ok() || !result.status.transient() || cancelled_) break;
    Sleep(pause);
  }
  if (rank_ == 0) result.master_port = 29'500;
  return result;
}

Status NodeAttempt::TryStage(const std::string& restore, StagingEnded* result) {
  *result = {};
  STOKER_TRY(OpenLog());
  if (!job_.code_digest.empty()) {
    STOKER_TRY(FetchBlob(ledger_, job_.code_digest, [](std::string_view) { return Status::Ok(); }));
  }
  const auto writer = host_.disk.OpenWriter();
  STOKER_TRY(writer->RemoveOthers({}));
  STOKER_TRY(Restore(restore, result));
  const ProgramPlan& plan = host_.world.PlanOf(job_.id)->program;
  Sleep(plan.setup_ms);
  if (plan.setup_fails) {
    result->setup_failed = true;
    result->setup_code = 4;
    return Status(Code::kInvalid, "setup ended with exit code 4");
  }
  if (cancelled_) return Status(Code::kCancelled, "stopped while it was set up");
  if (rank_ == 0 && !spec_.stop_when.empty()) {
    metrics_ = MakeMetrics();
    STOKER_TRY(metrics_->Begin());
  }
  return BeginKeeper();
}

std::unique_ptr<NodeMetrics> NodeAttempt::MakeMetrics() {
  return std::make_unique<NodeMetrics>(host_, process_, store_, spec_, job_, attempt_);
}

Status NodeAttempt::Restore(const std::string& id, StagingEnded* result) {
  restored_.clear();
  if (id.empty()) return Status::Ok();
  const CheckpointName name = SplitCheckpointName(id);
  const std::string job = name.job.empty() ? job_.id : name.job;
  const std::string& checkpoint = name.name;
  const auto writer = host_.disk.OpenWriter();
  const Status restored = RestoreCheckpoint(store_, job, checkpoint, rank_, *writer);
  result->restored = id;
  if (!restored.ok()) {
    if (BlamesCheckpoint(restored)) result->restore_error = restored.ToString();
    return restored;
  }
  restored_ = id;
  const ProgramView view{host_.id, job_.id, attempt_, rank_, host_.launch, 0};
  host_.world.Each([&](Observer& o) { o.OnRestored(view, id); });
  return Status::Ok();
}

// ---- program and checkpoints ----

Result<bool> NodeAttempt::MayCommit() {
  const auto read = ReadJob(ledger_, job_.id);
  if (read.status().transient()) return read.status();
  if (!read.ok()) return read.code() != Code::kNotFound;
  const Launch* launch = FindLaunch(read->job, host_.launch);
  const Attempt* attempt = FindAttempt(read->job, attempt_);
  return launch != nullptr && !launch->closed && attempt != nullptr &&
         attempt->state != AttemptState::kEnded;
}

bool NodeAttempt::SilentForGood(int rank) {
  const auto report = ReadReport(ledger_, job_.id, attempt_, rank);
  if (report.ok() && report->phase == NodePhase::kEnded) return true;
  const auto read = ReadJob(ledger_, job_.id);
  if (!read.ok()) return false;
  const Attempt* attempt = FindAttempt(read->job, attempt_);
  if (attempt == nullptr || static_cast<size_t>(rank) >= attempt->launches.size()) return true;
  const Launch* launch = FindLaunch(read->job, attempt->launches[static_cast<size_t>(rank)]);
  return launch == nullptr || launch->closed;
}

Status NodeAttempt::BeginKeeper() {
  files_ = host_.disk.OpenCheckpointFiles();
  KeeperConfig config;
  config.job = job_.id;
  config.attempt = attempt_;
  config.rank = rank_;
  config.num_nodes = job_.num_nodes;
  config.quiet = spec_.checkpoints.quiet;
  config.keep = spec_.checkpoints.keep;
  const bool whole = restored_.find('/') == std::string::npos && !IsAsLeft(restored_);
  if (whole) config.restored = restored_;
  if (!config.restored.empty()) config.protect.insert(config.restored);
  config.nonce_seed = host_.world.rng().Next();
  config.may_commit = [this] { return MayCommit(); };
  config.silent_for_good = [this](int rank) { return SilentForGood(rank); };
  keeper_ = std::make_unique<CheckpointKeeper>(std::move(config), store_, host_.clock, *files_);
  return keeper_->Begin();
}

Status NodeAttempt::Start(std::function<void(TaskExit)> ended, std::function<void()> activity,
                          std::function<void(const std::string& why)> broken) {
  switch (host_.world.PlanOf(job_.id)->program.start_fails) {
    case StartFails::kNever:
      break;
    case StartFails::kNotFound:
      return Status(Code::kNotFound, "there is no program 'python'");
    case StartFails::kDenied:
      return Status(Code::kDenied, "'python' may not be run");
    case StartFails::kInvalid:
      return Status(Code::kInvalid, "'python' is no program");
    case StartFails::kMachine:
      return Status(Code::kInternal, "no more processes");
  }
  std::function<void(int, double)> say;
  if (metrics_) {
    say = [this](int step, double loss) { host_.said[attempt_].push_back({step, loss}); };
  }
  program_ = std::make_unique<Program>(
      host_.world, host_.disk,
      ProgramPlace{host_.id, job_.id, attempt_, rank_, host_.launch, job_.num_nodes}, spool_.get(),
      say, [this, ended](TaskExit exit) {
        exit_ = exit;
        keeper_->ProgramEnded(exit, signalled_);
        files_->Wake();
        ended(exit);
      });
  program_->Start();
  if (metrics_) metrics_->Start(std::move(broken));
  process_.Spawn([this] { RunKeeper(); });
  process_.Spawn([this] { RunUploads(); });
  process_.Spawn([this, activity] {
    int64_t seen = -1;
    std::string newest;
    while (program_ && program_->running()) {
      if (program_->signs_of_life() != seen || keeper_->newest() != newest) activity();
      seen = program_->signs_of_life();
      newest = keeper_->newest();
      Sleep(2'000);
    }
  });
  return Status::Ok();
}

void NodeAttempt::RunKeeper() {
  while (!closed_ && !keeper_->Finished()) {
    keeper_->Step();
    if (keeper_->UploadWaiting()) upload_bell_.Notify();
    const Duration left = keeper_->NextStep() - host_.clock.Mono();
    files_->Wait(std::max(left, Duration::Ms(1)));
  }
}

void NodeAttempt::RunUploads() {
  while (!closed_ && !keeper_->Finished()) {
    if (keeper_->RunUpload()) {
      files_->Wake();
      continue;
    }
    upload_bell_.Wait(kLongestSleep);
  }
}

void NodeAttempt::Hurry() {
  if (program_ && keeper_) keeper_->Hurry();
}

Saving NodeAttempt::SavingNow(bool ended_unsaved) const {
  Saving saving;
  if (keeper_) {
    saving.longest = keeper_->written().longest_save;
    saving.upload = keeper_->upload_took();
  }
  saving.at_sigterm = program_ && program_->CatchesTerm();
  saving.ended_unsaved = ended_unsaved;
  return saving;
}

std::string NodeAttempt::AtTerm() const {
  if (!term_at_ || !keeper_ || !exit_ || exit_->signal == 9) return "";
  const CheckpointKeeper::Written written = keeper_->written();
  if (!written.any) return "";
  return written.last > *term_at_ ? "saved" : "unsaved";
}

void NodeAttempt::Terminate(const ToldToEnd& told) {
  signalled_ = true;
  if (keeper_) keeper_->Hurry();
  if (!program_ || !program_->running()) return;
  if (!term_at_) {
    term_at_ = host_.clock.Mono();
    const ProgramView view = program_->View();
    host_.world.Each([&](Observer& o) { o.OnToldToEnd(view, told); });
  }
  program_->Terminate(told);
}

void NodeAttempt::Kill(const ToldToEnd& told) {
  if (!program_ || !program_->running()) return;
  signalled_ = true;
  const ProgramView view = program_->View();
  host_.world.Each([&](Observer& o) { o.OnKilled(view, told); });
  program_->Kill();
}

void NodeAttempt::KillFromOutside() {
  if (program_) program_->Kill();
}

void NodeAttempt::PauseProgram(int64_t ms) {
  if (program_) program_->Pause(ms);
}

int64_t NodeAttempt::saved() const { return keeper_ ? keeper_->commits() : 0; }

Status NodeAttempt::FinalSync(MonoTime deadline) {
  if (!keeper_ || !program_) return Status::Ok();
  files_->Wake();
  int64_t pause = 50;
  while (!keeper_->Finished()) {
    if (host_.clock.Mono() >= deadline) {
      return Status(Code::kTimeout,
                    "the last checkpoint could not be saved: " + keeper_->trouble());
    }
    Sleep(pause);
    pause = std::min<int64_t>(pause + 10, 1'000);
  }
  KeepWhatIsLeft(deadline);
  return Status::Ok();
}

void NodeAttempt::KeepWhatIsLeft(MonoTime deadline) {
  if (std::exchange(left_kept_, true)) return;
  const CheckpointKeeper::Written written = keeper_->written();
  if (!written.unkept && job_.num_nodes == 1) return;
  const bool whole = !keeper_->newest().empty() || (!restored_.empty() && !IsAsLeft(restored_));
  if (whole) deadline = std::min(deadline, host_.clock.Mono() + kBesideWhole);
  AsLeftConfig config;
  config.job = job_.id;
  config.attempt = attempt_;
  config.rank = rank_;
  config.num_nodes = job_.num_nodes;
  config.wrote = written.any;
  config.unkept = written.unkept;
  config.nonce = ledger_.Nonce();
  config.may_commit = [this] { return MayCommit(); };
  config.pause = [this](Duration wait) { Sleep(wait.ms); };
  const auto kept = KeepAsLeft(config, store_, host_.clock, *files_, deadline);
  host_.world.Tell(host_.id, kept.ok() ? (kept->id.empty() ? "left nothing that is not kept"
                                                           : "kept " + kept->id)
                                       : "lost what was left: " + kept.status().ToString());
}

Status NodeAttempt::Finalize(const FinalizeAttempt& action) {
  STOKER_TRY(OpenLog());
  // Also what an agent before this one has left on the disk.
  if (!metrics_ && host_.said.contains(attempt_)) metrics_ = MakeMetrics();
  const Status said = metrics_ ? metrics_->Finish() : Status::Ok();
  const MonoTime now = host_.clock.Mono();
  const MonoTime deadline =
      action.deadline ? BeforeLastWords(*action.deadline, now) : now + kFinalSyncWithin;
  const Status first = FinalSync(deadline);
  MonoTime lines = host_.clock.Mono() + Duration::Seconds(30);
  if (action.deadline) {
    lines = std::max(host_.clock.Mono() + Duration::Ms(200), *action.deadline);
  }
  const Status shipped = ShipAll(lines);
  if (!first.ok()) return first;
  return shipped.ok() ? said : shipped;
}

void NodeAttempt::Complete(NodeReport& report) {
  if (spool_) {
    report.log_lines = spool_->counters().records;
    report.stderr_tail = spool_->stderr_tail();
    report.trouble = shipper_->trouble();
  }
  if (!keeper_) return;
  report.at_term = AtTerm();
  if (!keeper_->newest().empty()) report.newest_checkpoint = keeper_->newest();
  if (!keeper_->trouble().empty()) report.trouble += keeper_->trouble();
}

}  // namespace stoker::sim
