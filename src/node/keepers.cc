// SPDX-License-Identifier: Apache-2.0
// The part of an attempt that keeps work: checkpoints and outputs.
#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "base/text.h"
#include "checkpoint/as_left.h"
#include "checkpoint/checkpoint_store.h"
#include "checkpoint/fetch.h"
#include "checkpoint/rule/episode.h"
#include "job/checkpoint_name.h"
#include "ledger/records.h"
#include "ledger/reports.h"
#include "node/attempt_run.h"
#include "node/outputs/set_aside.h"
#include "policy/drain.h"
#include "sys/file.h"
#include "sys/watch/checkpoint_files.h"

namespace stoker::node {
namespace {

// With no notice in sight the uploads may take their time; the machine is paid for either way.
constexpr Duration kFinalSyncWithin = Duration::Minutes(30);
// What is left beside a whole checkpoint is for who asks for it: nobody waits longer than this.
constexpr Duration kBesideWhole = Duration::Seconds(15);

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

// Of a folder that outlives attempts, its real path; "" = it is made anew for each.
std::string AttemptRun::LastingCheckpointFolder() const {
  const std::string folder = CheckpointDir();
  const std::string path = sys::RealPath(folder).value_or(folder);
  for (const std::string& own : {config_.dir, WorkDir()}) {
    if (StartsWith(path, sys::RealPath(own).value_or(own) + "/")) return "";
  }
  return path;
}

Status AttemptRun::CheckCheckpointFolder(StagingEnded* result) {
  const std::string folder = LastingCheckpointFolder();
  if (folder.empty()) return Status::Ok();
  const auto real = [](const std::string& path) {
    const auto found = sys::RealPath(path);
    return found.ok() ? *found : path;
  };
  const std::string why =
      WhyNotForCheckpoints(folder, real(sys::HomeDir()), real(config_.state_dir));
  if (why.empty()) return Status::Ok();
  result->setup_failed = true;
  result->setup_code = 1;
  return Status(Code::kInvalid, "the checkpoint folder " + Printable(folder) + " " + why,
                "Name a folder for checkpoints alone: --checkpoints DIR");
}

void AttemptRun::TellWhatIsThere(const std::string& lasting) {
  if (lasting.empty()) return;
  const auto there = sys::ListDir(lasting);
  if (!there.ok() || there->empty()) return;
  Say("stoker: the checkpoint folder " + Printable(lasting) +
      " is not empty, and no checkpoint is restored: the program finds what lies there");
}

// What is in no checkpoint of the job, nor of the one that it goes on from, is somebody's, or a
// save that was never whole: the program must not find it, and nobody loses it.
Status AttemptRun::MoveStrangersAside(const std::string& folder, const std::string& job,
                                      const std::string& checkpoint) {
  std::set<std::string> ours;
  const auto add = [&](const std::string& of, const std::string& id) {
    const auto manifest = LoadManifest(store_, of, id);
    if (!manifest.ok()) return;  // the restore says why
    for (const auto& part : manifest->parts) {
      for (const ManifestFile& file : part.files) ours.insert(file.path);
    }
  };
  add(job, checkpoint);
  for (const std::string& of : std::set<std::string>{job, config_.job.id}) {
    STOKER_ASSIGN(const auto infos, ListCheckpoints(store_, of));
    for (const CheckpointInfo& info : infos) add(of, info.id);
  }
  if (!sys::DirExists(folder)) return Status::Ok();
  // What comes for another node that restores into the same folder.
  STOKER_ASSIGN(const auto there, sys::ListDir(folder));
  for (const sys::DirEntry& entry : there) {
    if (StartsWith(entry.name, kRestoring)) ours.insert(entry.name);
  }
  const std::vector<std::string> places = {config_.state_dir + "/aside", folder + ".stoker-aside"};
  STOKER_ASSIGN(const SetAside moved, MoveOthersAside(folder, ours, places, PlaceOfUnsaved().name));
  for (const std::string& to : moved.to) {
    Say("stoker: what lay in the checkpoint folder " + Printable(folder) +
        " and is in no checkpoint was moved to " + Printable(to) + ", where it stays");
  }
  return Status::Ok();
}

// `id` as in Attempt::restore: job/checkpoint_name.h.
Status AttemptRun::RestoreCheckpoint(const std::string& id, StagingEnded* result) {
  restored_.clear();
  const std::string lasting = LastingCheckpointFolder();
  // Of a restore that was cut short: in no checkpoint, and the program must not find it.
  const auto there = sys::ListDir(CheckpointDir());
  for (const sys::DirEntry& entry : there.ok() ? *there : std::vector<sys::DirEntry>()) {
    if (!IsCutRestore(entry.name, config_.rank, config_.job.num_nodes)) continue;
    STOKER_TRY(sys::RemoveTree(CheckpointDir() + "/" + entry.name));
  }
  if (id.empty()) {
    TellWhatIsThere(lasting);
    return Status::Ok();
  }
  const CheckpointName name = SplitCheckpointName(id);
  const std::string job = name.job.empty() ? config_.job.id : name.job;
  const std::string& checkpoint = name.name;
  if (!lasting.empty()) STOKER_TRY(MoveStrangersAside(lasting, job, checkpoint));
  if (sys::FileExists(CheckpointDir()) && !sys::DirExists(CheckpointDir())) {
    result->setup_failed = true;
    result->setup_code = 1;
    return Status(Code::kInvalid,
                  Printable(config_.spec.checkpoints.path) + " is no folder: checkpoint " + id +
                      " cannot be restored there",
                  "Rename what lies there, or name another folder: --checkpoints DIR");
  }
  Say("stoker: restoring " +
      (IsAsLeft(id) ? id + ", as a program left it: not known to be whole" : "checkpoint " + id));
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
  if (!sys::DirExists(options.directory)) {
    // Something else lies in its way, which MakeNamedFolders has said.
    Say("stoker: there is no checkpoint folder: what the program saves is not kept");
    options.directory = config_.dir + "/no-checkpoints";
    STOKER_TRY(sys::MakeDirs(options.directory, 0700));
  }
  options.staging = config_.dir + "/staging";
  STOKER_TRY(sys::MakeDirs(Spare(), 0700));
  if (!restored_.empty()) {
    options.reads_of = [](const std::string& path) { return !IsStream(path); };
  }
  auto files = OpenCheckpointFiles(options, clock_);
  KeeperConfig config;
  config.job = config_.job.id;
  config.attempt = config_.attempt;
  config.rank = config_.rank;
  config.num_nodes = config_.job.num_nodes;
  config.quiet = config_.spec.checkpoints.quiet;
  config.complete = config_.spec.checkpoints.complete;
  config.keep = config_.spec.checkpoints.keep;
  // One of another job, or one that was left, lies in another place: it is kept anew.
  const bool whole = restored_.find('/') == std::string::npos && !IsAsLeft(restored_);
  if (whole) config.restored = restored_;
  config.began_from = {restored_, ScriptOf(config_.spec), restored_.find('/') == std::string::npos};
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

// Early, and seldom then: a walk through the whole work directory. One that has saved where it is
// kept knows what it does.
void AttemptRun::LookForStray() {
  if (config_.attempt > 1 || config_.rank > 0 || stray_rest_ > kStrayUntil) return;
  const MonoTime begun = clock_.Mono();
  if (begun < stray_due_ || keeper_->written().any) return;
  const std::string told = output_plan_->stray().Look();
  const MonoTime now = clock_.Mono();
  stray_rest_ = std::max({kStrayFirst, stray_rest_ * 2, (now - begun) * kStrayShare});
  stray_due_ = now + stray_rest_;
  if (told.empty()) return;
  stray_rest_ = kStrayUntil * 2;
  Say("stoker: " + told);
  const std::lock_guard lock(mutex_);
  stray_ = told;
}

void AttemptRun::StartKeepers(std::function<void(const std::string& why)> broken) {
  files_->WatchTask([this]() -> std::vector<int> {
    std::shared_ptr<Task> task;
    {
      const std::lock_guard lock(mutex_);
      task = task_;
    }
    return task ? task->Processes() : std::vector<int>();
  });
  output_plan_->stray().Begin(clock_.Wall());
  keeper_threads_ = std::make_unique<KeeperThreads>(*keeper_, clock_, *files_);
  auto outputs = std::make_unique<OutputSync>(
      OutputSyncConfig{*output_plan_, config_.job.id, config_.attempt, config_.rank, WorkDir(),
                       config_.dir + "/staging", movers_,
                       [this](const std::string& line) { Say(line); }, [this] { LookForStray(); }},
      store_, clock_);
  metrics_->Start(std::move(broken));
  const std::lock_guard lock(mutex_);  // the report is written by another thread
  outputs_ = std::move(outputs);
}

Status AttemptRun::FinalSync(const FinalizeAttempt& action) {
  const Status taken_up = TakeUpMetrics();
  if (!staged_) KeepForerunners();
  if (!keeper_threads_) return taken_up;
  const MonoTime now = clock_.Mono();
  const MonoTime deadline =
      action.deadline ? BeforeLastWords(*action.deadline, now) : now + kFinalSyncWithin;
  const Status checkpoint = FinalCheckpoint(deadline).WithContext("the last checkpoint");
  const Status metrics = FinishMetrics(deadline).WithContext("the last metrics");
  // Outputs of a run that failed or was taken are kept too: they say what happened.
  const Status outputs =
      outputs_ ? outputs_->Finish(deadline).WithContext("the last outputs") : Status::Ok();
  if (checkpoint.ok() && !hurried_) KeepWhatIsLeft(deadline);
  // What may not be read is not kept by another try either, and must not go with the folder.
  if (checkpoint.ok() && outputs.ok() && unsaved_.files == 0) MoveUnsavedAway(false);
  if (!checkpoint.ok()) return checkpoint;
  return outputs.ok() ? metrics : outputs;
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
  MoveUnsavedAway(!lost.empty());
  Say("stoker: gave up saving what is left");
  if (log_) (void)log_->ShipAll(Duration::Ms(200));
}

UnsavedPlace AttemptRun::PlaceOfUnsaved() const {
  const std::string name =
      config_.job.id + "-" + std::to_string(config_.attempt) + "-" + std::to_string(config_.rank);
  // A former agent's place is this machine's still.
  const std::string work = place_ ? WorkDir() : sys::WorkOf(config_.dir);
  return {work, config_.state_dir + "/" + kUnsaved, name, Spare()};
}

// The next attempt makes anew what is lost. After a cancel there is none, and nobody knows any more
// what of it is in the store.
void AttemptRun::KeepForerunners() {
  staged_ = true;  // once
  const auto read = ReadJob(ledger_, config_.job.id);
  if (!read.ok() || !read->job.cancel || !sys::FileExists(PlaceOfUnsaved().work)) return;
  Unsaved moved = MoveWork(PlaceOfUnsaved());
  if (moved.in.empty())
    return Say("stoker: what the program left could not be moved: " + moved.status.ToString());
  Say("stoker: the agent died and was started again, and the job was cancelled: all that the "
      "program left lies in " +
      moved.in + "; 'stoker gc' removes it when it is 30 days old");
  const std::lock_guard lock(mutex_);
  unsaved_ = std::move(moved);
}

void AttemptRun::MoveUnsavedAway(bool checkpoints) {
  std::vector<std::string> paths = outputs_ ? outputs_->unsaved() : std::vector<std::string>();
  const std::string inside = WorkDir() + "/";
  if (checkpoints && !StartsWith(CheckpointDir(), inside)) {
    Say("stoker: what was saved last lies in " + Printable(CheckpointDir()));
  } else if (checkpoints) {
    paths.push_back(CheckpointDir().substr(inside.size()));
  }
  if (paths.empty()) return;
  Unsaved moved = MoveUnsaved(PlaceOfUnsaved(), paths);
  if (!moved.in.empty()) {
    Say("stoker: what could not be kept lies in " + moved.in + " (" + std::to_string(moved.files) +
        (moved.files == 1 ? " file, " : " files, ") + HumanSize(moved.bytes) +
        "); 'stoker gc' removes it when it is 30 days old");
  }
  if (!moved.status.ok()) {
    Say("stoker: not all that could not be kept could be moved, and the rest goes with the "
        "machine: " +
        moved.status.ToString());
    moved.files = std::max(moved.files, static_cast<int64_t>(paths.size()));
  }
  const std::lock_guard lock(mutex_);
  unsaved_ = std::move(moved);
}

int64_t AttemptRun::saved() const {
  return (keeper_ ? keeper_->commits() : 0) + (outputs_ ? outputs_->uploaded() : 0);
}

// After whole checkpoints and outputs: nothing of them waits for it, and its failure is no reason
// to try any of it again.
void AttemptRun::KeepWhatIsLeft(MonoTime deadline) {
  if (std::exchange(left_kept_, true)) return;
  keeper_threads_->Stop();
  const CheckpointKeeper::Written written = keeper_->written();
  if (!written.unkept && config_.job.num_nodes == 1) return;
  std::string newest = keeper_->newest();
  if (newest.empty() && !IsAsLeft(restored_)) newest = restored_;
  const MonoTime until =
      newest.empty() ? deadline : std::min(deadline, clock_.Mono() + kBesideWhole);
  AsLeftConfig config;
  config.job = config_.job.id;
  config.attempt = config_.attempt;
  config.rank = config_.rank;
  config.num_nodes = config_.job.num_nodes;
  config.wrote = written.any;
  config.unkept = written.unkept;
  config.nonce = ledger_.Nonce();
  config.movers = movers_;
  config.may_commit = [this] { return MayCommit(); };
  config.give_up = [this] { return hurried_.load(); };
  config.pause = [](Duration wait) {
    std::this_thread::sleep_for(std::chrono::milliseconds(wait.ms));
  };
  const auto kept = KeepAsLeft(config, store_, clock_, *files_, until);
  const std::string what = newest.empty()
                               ? "the program left no whole checkpoint, but files"
                               : "the program left files that are newer than checkpoint " + newest;
  if (!kept.ok()) {
    const std::string lost = what + ", and they could not be kept: " + kept.status().ToString();
    Say("stoker: " + lost);
    {
      const std::lock_guard lock(mutex_);
      lost_.push_back(lost);
    }
    if (newest.empty()) MoveUnsavedAway(true);
  } else if (!kept->id.empty()) {
    Say("stoker: " + what + ": kept as they are, as " + kept->id + " (" +
        std::to_string(kept->files) + (kept->files == 1 ? " file, " : " files, ") +
        HumanSize(kept->bytes) + ")" +
        (newest.empty() ? "" : ", for 'stoker run --from " + config_.job.id + "/as-left'"));
    for (const std::string& out : kept->left_out) Say("stoker: left out of it: " + out);
  }
}

std::string AttemptRun::NewestCheckpoint() const { return keeper_ ? keeper_->newest() : ""; }

std::string AttemptRun::KeeperTrouble() const {
  std::string trouble = keeper_ && lost_.empty() ? keeper_->trouble() : "";  // lost_ has it
  const std::string metrics = metrics_ ? metrics_->trouble() : "";
  if (!metrics.empty()) trouble += (trouble.empty() ? "" : "; ") + metrics;
  const std::string more = outputs_ ? outputs_->trouble() : "";
  if (!more.empty()) trouble += (trouble.empty() ? "" : "; ") + more;
  std::vector<std::string> lost = lost_;
  if (outputs_) {
    for (std::string& line : outputs_->left_out()) lost.push_back(std::move(line));
  }
  constexpr size_t kNamed = 20;  // the log names all
  // Once it has ended, what is kept of it is told by the outputs.
  if (!stray_.empty() && task_ && !task_->Poll()) lost.insert(lost.begin(), stray_);
  for (size_t i = 0; i < lost.size() && i < kNamed; ++i) {
    trouble += (trouble.empty() ? "" : "; ") + lost[i];
  }
  return trouble;
}

UsageLook AttemptRun::Complete(NodeReport& report) {
  const std::lock_guard lock(mutex_);
  if (log_) {
    report.log_lines = log_->spool().counters().records;
    report.stderr_tail = log_->spool().stderr_tail();
    trouble_ = log_->trouble();
  }
  report.mechanism = mechanism_;
  report.doing = doing_;
  if (task_ && !task_->Poll()) ReadUsage();
  peak_resident_ = std::max(peak_resident_, usage_.peak_bytes);
  report.cpu_seconds = usage_.cpu_seconds;
  report.resident_bytes = usage_.resident_bytes;
  report.peak_resident_bytes = peak_resident_;
  report.trouble = trouble_;
  if (outputs_) report.missing_outputs = outputs_->missing();
  if (unsaved_.files > 0) {
    report.unkept = unsaved_.files;
    report.unkept_in = unsaved_.in;
  }
  report.at_term = AtTerm();
  const std::string newest = NewestCheckpoint();
  if (!newest.empty()) report.newest_checkpoint = newest;
  const std::string more = KeeperTrouble();
  for (const std::string& text : {more, left_behind_}) {
    if (!text.empty()) report.trouble += (report.trouble.empty() ? "" : "; ") + text;
  }
  return {usage_read_, task_ ? WorkDir() : ""};
}

void AttemptRun::ReadUsage() {
  usage_read_ = clock_.Mono();
  usage_ = task_->Usage();
}

}  // namespace stoker::node
