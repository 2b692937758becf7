// SPDX-License-Identifier: Apache-2.0
#include "node/attempt_run.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "agent/save_patience.h"
#include "agent/signals.h"
#include "agent/supervisor.h"
#include "base/text.h"
#include "node/attempt/channels.h"
#include "node/attempt/gpus.h"
#include "node/env/editable.h"
#include "node/env/host_names.h"
#include "node/env/python_env.h"
#include "node/env/setup_env.h"
#include "node/env/tail_sink.h"
#include "policy/drain.h"
#include "provider/local/local_boot.h"
#include "sys/file.h"
#include "sys/spool_file.h"
#include "sys/task/gpu_usage.h"
#include "sys/watch/checkpoint_files.h"

namespace stoker::node {
namespace {

// A port that was free a moment ago on every address of this machine: rank 0's rendezvous listens
// there. Several nodes of one machine share its ports, so a fixed one would collide.
int FreePort() {
  const sys::ScopedFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  socklen_t size = sizeof address;
  if (fd.get() < 0 || ::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    return 29500;
  }
  return ntohs(address.sin_port);
}

constexpr int kLookMs = 500;
constexpr int kLooksAnHour = 3'600'000 / kLookMs;

// Rounded down: whoever reads it has at least so long.
std::string SecondsText(Duration d) {
  if (d >= Duration::Seconds(10)) return FormatDuration(Duration::Seconds(d.ms / 1000));
  return std::to_string(d.ms / 1000) + "." + std::to_string(d.ms % 1000 / 100) + "s";
}

TaskCommand ShellCommand(const std::string& script, const std::string& cwd,
                         contract::Environment env) {
  TaskCommand command;
  // SkyPilot's scripts are bash; where there is none, a POSIX shell still runs most of them.
  const bool bash = sys::FileExists("/bin/bash") || sys::FileExists("/usr/bin/bash");
  command.argv = {bash ? "bash" : "/bin/sh", "-c", script};
  command.env = std::move(env);
  command.cwd = cwd;
  return command;
}

// Why SIGTERM comes when it does.
std::string WhySo(const Saving& saving) {
  if (!saving.at_sigterm) return "no process that trains handles SIGTERM";
  if (saving.ended_unsaved) return "this job has ended at SIGTERM without a save before";
  if (!saving.longest) return "it handles SIGTERM; no save was seen yet";
  return "it handles SIGTERM; its longest save took " + SecondsText(*saving.longest);
}

}  // namespace

AttemptRun::AttemptRun(ObjectStore& store, Ledger& ledger, ProcessRunner& runner, Clock& clock,
                       AttemptRunConfig config)
    : store_(store),
      ledger_(ledger),
      runner_(runner),
      clock_(clock),
      config_(config),
      step_(runner) {
  if (config_.limiter == nullptr) return;
  const ResourcesSpec& asked = config_.spec.resources;
  config_.limiter->Ask({asked.memory.value_or(0), asked.cpus.value_or(0)});
}

AttemptRun::~AttemptRun() {
  Kill();
  if (watcher_.joinable()) watcher_.join();
  if (log_) log_->sink().Tell(nullptr);
}

std::string AttemptRun::CheckpointDir() const {
  const std::string& path = config_.spec.checkpoints.path;
  return !path.empty() && path[0] == '/' ? path : WorkDir() + "/" + path;
}

Status AttemptRun::OpenLog() {
  int64_t pause = 50;
  while (!log_) {
    const std::string folder = config_.dir + "/" + kSpoolPrefix + std::to_string(config_.attempt);
    STOKER_ASSIGN(std::unique_ptr<SpoolFolder> spool, OpenSpoolFolder(folder));
    auto pump = LogPump::Start(store_, clock_, std::move(spool),
                               LogPlace{config_.job.id, config_.attempt, config_.rank});
    if (pump.ok()) {
      const std::lock_guard lock(mutex_);
      log_ = std::move(*pump);
      log_->SetLeaving(leaving_);
      log_->AwaitProgram();
    } else if (!pump.status().transient() || step_.cancelled()) {
      return pump.status();
    } else {
      std::this_thread::sleep_for(std::chrono::milliseconds(pause));
      pause = std::min<int64_t>(pause * 2, 5000);
    }
  }
  return Status::Ok();
}

Status AttemptRun::ShipLeft(Duration within) {
  step_.Cancel();
  STOKER_TRY(OpenLog());
  return log_->ShipAll(within);
}

void AttemptRun::Say(const std::string& text) {
  std::shared_ptr<LogMask> mask;
  LogPump* log = nullptr;
  {
    const std::lock_guard lock(mutex_);
    mask = mask_;
    log = log_.get();  // once there, it stays
  }
  if (log != nullptr) log->sink().Say(mask ? mask->Masked(text) : text);
}

Saving AttemptRun::SavingNow(bool ended_unsaved) const {
  std::shared_ptr<Task> task;
  Saving saving;
  {
    const std::lock_guard lock(mutex_);
    task = task_;
    if (keeper_) {
      saving.longest = keeper_->written().longest_save;
      saving.upload = keeper_->upload_took();
    }
  }
  saving.at_sigterm = task && task->SavesAtStop();
  saving.ended_unsaved = ended_unsaved;
  return saving;
}

void AttemptRun::SayNotice(const std::optional<Notice>& notice, const Saving& saving) {
  {
    const std::lock_guard lock(mutex_);
    leaving_ = notice.has_value();
    if (log_) log_->SetLeaving(leaving_);
  }
  if (!notice) return Say("stoker: the notice is withdrawn: this machine stays");
  const int64_t left = std::max<int64_t>(0, (notice->until - clock_.Wall()).ms);
  const DrainPlan plan = PlanDrain(Duration::Ms(left), saving);
  const Duration to_end =
      std::min(plan.term_before - plan.kill_before, GraceOf(config_.spec.stop_grace, saving));
  Say("stoker: notice: this machine is taken in " +
      FormatDuration(Duration::Seconds((left + 999) / 1000)) + ": SIGTERM in " +
      SecondsText(Duration::Ms(left) - plan.term_before) + ", then " + SecondsText(to_end) +
      " to end (" + WhySo(saving) + ")");
}

void AttemptRun::SayMove(const Notice& notice, const Saving& saving) {
  const auto left = Duration::Ms(std::max<int64_t>(0, (notice.until - clock_.Wall()).ms));
  Say("stoker: the job moves to another place: SIGTERM in " +
      SecondsText(left - PlanDrain(left, saving).term_before) + ", then " +
      SecondsText(GraceOf(config_.spec.stop_grace, saving)) + " to end (" + WhySo(saving) + ")");
}

void AttemptRun::Heed(const HostAdvice& advice) {
  {
    const std::lock_guard lock(mutex_);
    leaving_ = true;
    if (log_) log_->SetLeaving(true);
  }
  Say("stoker: the platform recommends to leave this machine (" + Printable(advice.what) +
      "): it may be taken soon. The program goes on; a checkpoint is asked for now");
  // SIGTERM ends a program, and nothing has to end yet.
  if (config_.spec.checkpoints.signal != "SIGTERM") AskForCheckpoint();
}

LogSink& AttemptRun::Sink() {
  const std::lock_guard lock(mutex_);
  if (mask_) return *mask_;
  return log_->sink();
}

Status AttemptRun::LearnVariables(StagingEnded* result) {
  auto own =
      FindOwnVariables(config_.spec, {config_.state_dir, ledger_.id(), config_.job.id, WorkDir()});
  if (!own.ok()) {
    result->setup_failed = own.status().Is(Code::kInvalid) || own.status().Is(Code::kCorrupt);
    result->setup_code = 1;
    return own.status();
  }
  const bool first = own_.shell.empty() && own_.secrets.empty();
  own_ = std::move(*own);
  if (!own_.masked.empty()) {
    const std::lock_guard lock(mutex_);
    if (!mask_) mask_ = std::make_shared<LogMask>(log_->sink(), own_.masked);
  }
  if (!first) return Status::Ok();
  for (const std::string& line : TellOwnVariables(own_)) Say(line);
  return Status::Ok();
}

contract::NodeFacts AttemptRun::Facts(const std::vector<std::string>& addresses, int master_port,
                                      bool resume) const {
  contract::NodeFacts facts;
  facts.job_id = config_.job.id;
  facts.job_name = config_.job.name;
  facts.user = config_.job.user;
  facts.attempt = config_.attempt;
  facts.rank = config_.rank;
  facts.addresses = addresses;
  facts.host_names = HostNames(config_.job.id, config_.job.num_nodes);
  facts.master_port = master_port;
  facts.num_nodes = config_.job.num_nodes;
  facts.gpus = CountGpus();
  const char* given = std::getenv(kGrantedGpus);
  if (auto granted = ReadGrantedGpus(given != nullptr ? given : "")) {
    facts.gpus = granted->count;
    facts.granted = std::move(granted->variables);
  }
  facts.resume = resume;
  facts.checkpoint_dir = CheckpointDir();
  facts.output_dir = WorkDir() + "/" + contract::kOutputFolder;
  facts.inputs_dir = InputsDir();
  facts.model_dir = WorkDir() + "/" + contract::kModelFolder;
  facts.git = config_.job.git;
  facts.store_url = store_.url();
  facts.home = sys::HomeDir();
  facts.shell = own_.shell;
  facts.secrets = own_.secrets;
  facts.path = config_.job.path;
  if (const char* own = std::getenv("PATH"); facts.path.empty() && own != nullptr) facts.path = own;
  return facts;
}

HostPlan AttemptRun::Hosts(const std::vector<std::string>& addresses) const {
  return {config_.job.id, config_.job.num_nodes, config_.rank, addresses, config_.dir + "/hosts"};
}

// A fresh folder for each attempt, at the same place: what the last one left half-written must not
// look like this one's work.
Status AttemptRun::PrepareFolder() {
  TakePlace();
  STOKER_TRY(sys::RemoveTree(WorkDir()));
  if (config_.job.code_digest.empty()) return sys::MakeDirs(WorkDir(), 0755);
  return FetchCode();
}

// So that a program which trusts its variables need not make what they name; after `setup`, to
// whose tools the work directory is a project (setuptools takes each folder for a package). One
// that is not to be had, as a file lies in the way, is said: the program may do without it.
void AttemptRun::MakeNamedFolders() {
  const contract::NodeFacts facts = Facts({config_.address}, 0, false);
  for (const auto& [variable, path] : {std::pair{"STOKER_CHECKPOINT_DIR", facts.checkpoint_dir},
                                       {"STOKER_OUTPUT_DIR", facts.output_dir},
                                       {"STOKER_MODEL_DIR", facts.model_dir}}) {
    const Status made = sys::MakeDirs(path, 0755);
    if (!made.ok()) Say("stoker: " + made.WithContext(variable).ToString());
  }
}

Status AttemptRun::BringInputs(StagingEnded* result) {
  const ChannelsConfig channels{InputsDir(), config_.dir + "/inputs-known", clock_,
                                [this] { return step_.cancelled(); },
                                [this](const std::string& line) { Say(line); }};
  const Status brought = BringChannels(config_.spec.inputs, channels);
  if (!brought.ok() && BlamesInputs(brought)) {
    result->setup_failed = true;
    result->setup_code = 1;
  }
  return brought;
}

// Before the setup, which may look for them. A machine that never has them is at fault, not the
// job.
Status AttemptRun::AwaitItsGpus() {
  GpuWait wait;
  wait.promised = config_.gpus;
  wait.cancelled = [this] { return step_.cancelled(); };
  wait.say = [this](const std::string& text) { Say("stoker: " + text); };
  return AwaitGpus(wait, clock_);
}

Status AttemptRun::RunSetup(const std::string& restore, StagingEnded* result) {
  contract::Environment env =
      contract::SetupEnvironment(config_.spec, Facts({config_.address}, 0, !restore.empty()));
  venv_ = PythonEnv();  // what a try before this one held
  auto venv = PreparePythonEnv({WorkDir(), config_.cache_dir + "/venv", config_.dir + "/venv",
                                config_.job.code_digest, config_.spec.setup, config_.job.pins},
                               env, step_, Sink());
  if (!venv.ok()) {
    result->setup_failed = venv.status().Is(Code::kInvalid) || venv.status().Is(Code::kNotFound);
    result->setup_code = 1;
    // Pip's own words are in it, and it goes into the report.
    Status why = venv.status().WithContext("requirements.txt");
    return mask_ ? Status(why.code(), mask_->Masked(why.message()), why.next()) : why;
  }
  venv_ = std::move(*venv);
  TakeCopyFirst(env);
  if (config_.spec.setup.empty()) return Status::Ok();
  Does("setup");
  ActivatePythonEnv(venv_.folder, env);
  ActivateEditableGuard(guard_, env);
  const std::string left_in = config_.dir + "/setup-env";
  STOKER_TRY(MakeSetupFile(left_in));
  env.emplace_back("STOKER_ENV", left_in);
  const ShellFiles shell_files(sys::HomeDir());
  TaskCommand command = ShellCommand(config_.spec.setup, WorkDir(), std::move(env));
  command.out = LogStream::kSystem;
  command.err = LogStream::kSystem;
  STOKER_TRY(AskForHostName(Hosts({config_.address}), command));
  if (place_) command.lock = place_->lock();
  TailSink output(Sink());
  STOKER_ASSIGN(const TaskExit exit, step_.Run(command, output));
  SayWhatIsNotHeld();
  const std::string changed = shell_files.Changed();
  if (!changed.empty()) Say("stoker: " + changed);
  if (exit.ShellCode() == 0) {
    SetupLeft left = ReadSetupFile(left_in);
    for (const std::string& note : left.notes) Say("stoker: " + note);
    from_setup_ = std::move(left.variables);
    return Status::Ok();
  }
  SpoilPythonEnv(venv_);
  result->setup_failed = true;
  result->setup_code = exit.ShellCode();
  // Masked before anything is cut, a secret in two.
  return WhySetupFailed(exit, mask_ ? mask_->Masked(output.Tail()) : output.Tail());
}

void AttemptRun::SayWhatIsNotHeld() {
  const std::string what = config_.limiter != nullptr ? config_.limiter->TakeComplaint() : "";
  if (!what.empty()) Say("stoker: " + what);
}

StagingEnded AttemptRun::Stage(const std::string& restore) {
  StagingEnded result;
  staged_ = true;
  set_up_ = false;
  int64_t pause = 100;
  for (;;) {
    result.status = TryStage(restore, &result);
    if (result.status.ok() || !result.status.transient() || step_.cancelled()) break;
    // The store is away: the machine waits for it, it is not the machine's fault.
    Say("stoker: " + result.status.ToString() + "; trying again");
    std::this_thread::sleep_for(std::chrono::milliseconds(pause));
    pause = std::min<int64_t>(pause * 2, 5000);
  }
  if (!result.status.ok()) Say("stoker: " + result.status.ToString());
  if (config_.rank == 0) result.master_port = FreePort();
  return result;
}

// What `setup` needs and what it does: not again because of a store that was away later.
Status AttemptRun::SetUp(const std::string& restore, StagingEnded* result) {
  if (set_up_) return Status::Ok();
  Does("fetching the code");
  const Status prepared = PrepareFolder().WithContext("preparing the work directory");
  if (prepared.Is(Code::kCorrupt) || prepared.Is(Code::kInvalid) || prepared.Is(Code::kNotFound)) {
    // Code that cannot be unpacked here cannot be unpacked on any other machine either.
    result->setup_failed = true;
    result->setup_code = 1;
  }
  STOKER_TRY(prepared);
  STOKER_TRY(LearnVariables(result));
  STOKER_TRY(CheckCheckpointFolder(result));
  output_plan_ =
      std::make_unique<OutputPlan>(config_.spec, WorkDir(), config_.rank, config_.job.downloads);
  const Status begun = output_plan_->Begin();
  if (!begun.ok()) Say("stoker: " + begun.WithContext("outputs").ToString());
  Does("fetching inputs");
  STOKER_TRY(BringInputs(result));
  Does("waiting for GPUs");
  STOKER_TRY(AwaitItsGpus());
  Does("installing packages");
  STOKER_TRY(RunSetup(restore, result));
  if (step_.cancelled()) return Status(Code::kCancelled, "stopped while it was set up");
  set_up_ = true;
  return Status::Ok();
}

Status AttemptRun::TryStage(const std::string& restore, StagingEnded* result) {
  *result = {};
  STOKER_TRY(OpenLog());
  STOKER_TRY(SetUp(restore, result));
  Does(restore.empty() ? "" : "restoring " + restore);
  STOKER_TRY(RestoreCheckpoint(restore, result));
  Does("");
  if (step_.cancelled()) return Status(Code::kCancelled, "stopped while it was set up");
  MakeNamedFolders();
  const Status remembered = output_plan_->Remember();
  if (!remembered.ok()) Say("stoker: " + remembered.WithContext("outputs").ToString());
  STOKER_TRY(BeginMetrics());
  // Here, where a store that is away is waited for, and not when the program starts.
  return BeginKeepers();
}

Status AttemptRun::Start(const StartProgram& start, std::function<void(TaskExit)> ended,
                         std::function<void()> activity,
                         std::function<void(const std::string& why)> broken) {
  contract::NodeFacts facts = Facts(start.addresses, start.master_port, !restored_.empty());
  facts.from_setup = from_setup_;
  facts.metrics_file = MetricsFile();
  contract::Environment env = contract::ProgramEnvironment(config_.spec, facts);
  ActivatePythonEnv(venv_.folder, env);
  ActivateEditableGuard(guard_, env);
  TaskCommand command;
  if (config_.spec.argv.empty()) {
    command = ShellCommand(config_.spec.run, WorkDir(), std::move(env));
  } else {
    command.argv = config_.spec.argv;
    command.env = std::move(env);
    command.cwd = WorkDir();
  }
  STOKER_TRY(AskForHostName(Hosts(start.addresses), command));
  if (place_) command.lock = place_->lock();
  log_->SetBegun();
  auto task = runner_.Start(command, Sink());
  SayWhatIsNotHeld();
  if (!task.ok()) {
    Say("stoker: " + task.status().ToString());
    return task.status();
  }
  if (!command.host.name.empty() && !(*task)->has_host_name()) Say("stoker: " + NoHostName());
  {
    const std::lock_guard lock(mutex_);
    task_ = std::move(*task);
    mechanism_ = task_->mechanism();
  }
  StartKeepers(std::move(broken));
  watcher_ = std::thread([this, ended = std::move(ended), activity = std::move(activity)] {
    WatchProgram(ended, activity);
  });
  return Status::Ok();
}

// Waits for the main process; meanwhile says now and then that the program shows signs of life.
void AttemptRun::WatchProgram(std::function<void(TaskExit)> ended, std::function<void()> activity) {
  int64_t seen_bytes = -1;
  std::string seen_checkpoint;
  for (int looks = 1;; ++looks) {
    if (place_ && looks % kLooksAnHour == 0) place_->Touch();
    std::shared_ptr<Task> task;
    {
      const std::lock_guard lock(mutex_);
      task = task_;
    }
    const auto exit = task->Wait(kLookMs);
    if (exit) {
      // Before anything is cleaned up: what is still open for writing now is not whole.
      keeper_->ProgramEnded(*exit, signalled_ && !exit->untold);
      if (exit->left_behind > 0) SayLeftBehind(*exit);
      ended(*exit);
      return;
    }
    const int64_t bytes = log_->spool().counters().bytes;
    const std::string newest = NewestCheckpoint();
    if (bytes != seen_bytes || newest != seen_checkpoint) activity();
    seen_bytes = bytes;
    seen_checkpoint = newest;
  }
}

bool AttemptRun::AskForCheckpoint() {
  const std::string& name = config_.spec.checkpoints.signal;
  const int signo = SignalNumber(name);
  std::shared_ptr<Task> task;
  {
    const std::lock_guard lock(mutex_);
    if (keeper_) keeper_->Hurry();
    task = task_;
  }
  if (!task || signo == 0) return false;
  signalled_ = signalled_ || signo == SIGTERM;
  const auto told = task->Signal(signo);
  if (!told.ok()) {
    Say("stoker: checkpoints.signal: " + told.status().ToString());
    return false;
  }
  Say("stoker: " + TellSignal(name, *told, "checkpoints.signal was sent to nobody"));
  return !told->empty();
}

void AttemptRun::Terminate() {
  signalled_ = true;
  std::shared_ptr<Task> task;
  {
    const std::lock_guard lock(mutex_);
    if (keeper_) keeper_->Hurry();
    task = task_;
  }
  if (!task) return;
  int64_t never = -1;
  term_at_.compare_exchange_strong(never, clock_.Mono().ms);
  const auto told = task->Stop();
  if (!told.ok()) {
    Say("stoker: SIGTERM: " + told.status().ToString());
  } else if (!told->empty()) {
    Say("stoker: " + TellSignal("SIGTERM", *told, ""));
  }
}

void AttemptRun::Kill() {
  std::shared_ptr<Task> task;
  {
    const std::lock_guard lock(mutex_);
    task = task_;
    if (task) {
      ReadUsage();
      if (!task->Poll()) signalled_ = true;
    }
  }
  if (!task) return;
  (void)task->End();
}

// Of a program that ended by itself: what it had started and not waited for.
void AttemptRun::SayLeftBehind(const TaskExit& exit) {
  const bool good = exit.ShellCode() == 0;
  const std::string text = (good ? kLeftBehind : "the program has failed and left ") +
                           std::to_string(exit.left_behind) +
                           (exit.left_behind == 1 ? " process" : " processes") +
                           " behind, which stoker ended: SIGTERM, and " +
                           FormatDuration(kLeftBehindGrace) + " later SIGKILL";
  Say("stoker: " + text);
  if (!good) return;  // it has failed: that is what there is to say of it
  const std::lock_guard lock(mutex_);
  left_behind_ = text;
}

Status AttemptRun::Finalize(const FinalizeAttempt& action) {
  if (!log_) STOKER_TRY(OpenLog());
  if (watcher_.joinable()) watcher_.join();
  if (mask_) mask_->Flush();  // the program has ended, and all that it wrote has come
  Does("uploading");
  Status first = FinalSync(action);
  // Lines last: what the uploads have to say is among them.
  if (!first.ok()) SayNow(first, action.deadline.has_value());
  Duration within = Duration::Seconds(30);
  if (action.deadline) within = std::max(Duration::Ms(200), *action.deadline - clock_.Mono());
  if (hurried_) within = Duration::Ms(200);
  const Status shipped = log_->ShipAll(within);
  if (first.ok() && shipped.ok()) Does("");
  return first.ok() ? shipped : first;
}

// A trouble that lasts is said once.
void AttemptRun::SayNow(const Status& trouble, bool taken) {
  const std::string text = trouble.ToString();
  if (text == said_) return;
  said_ = text;
  Say("stoker: " + text + "; trying again" +
      (taken ? " until the machine is taken"
             : " until nothing has got through for " + FormatDuration(kKeepTrying) + ", or for " +
                   FormatDuration(kSaveAfterCancel) + " after a cancel"));
}

std::string AttemptRun::AtTerm() const {
  const auto exit = task_ ? task_->Poll() : std::nullopt;
  if (term_at_ < 0 || !keeper_ || !exit || exit->signal == SIGKILL) return "";
  const CheckpointKeeper::Written written = keeper_->written();
  if (!written.any) return "";  // there was nothing to save yet: that tells nothing
  return written.last.ms > term_at_ ? "saved" : "unsaved";
}

}  // namespace stoker::node
