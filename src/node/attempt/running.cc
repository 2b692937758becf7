// SPDX-License-Identifier: Apache-2.0
#include "node/attempt/running.h"

#include <algorithm>
#include <csignal>
#include <utility>

#include "agent/signals.h"
#include "base/text.h"
#include "node/env/host_names.h"
#include "node/ran/told_variables.h"

namespace stoker::node {
namespace {

constexpr int kLookMs = 500;
constexpr int kLooksAnHour = 3'600'000 / kLookMs;

// Rounded down: whoever reads it has at least so long.
std::string SecondsText(Duration d) {
  if (d >= Duration::Seconds(10)) return FormatDuration(Duration::Seconds(d.ms / 1000));
  return std::to_string(d.ms / 1000) + "." + std::to_string(d.ms % 1000 / 100) + "s";
}

// Why SIGTERM comes when it does.
std::string WhySo(const Saving& saving) {
  if (!saving.at_sigterm) return "no process that trains handles SIGTERM";
  if (saving.ended_unsaved) return "this job has ended at SIGTERM without a save before";
  if (!saving.longest) return "it handles SIGTERM; no save was seen yet";
  return "it handles SIGTERM; its longest save took " + SecondsText(*saving.longest);
}

// Of one that belongs to this attempt alone without its number: "<key>-2".
std::string KeyOf(const PythonEnv& env) {
  const std::string name = env.folder.substr(env.folder.rfind('/') + 1);
  return env.held.valid() ? name.substr(0, name.rfind('-')) : name;
}

}  // namespace

Running::~Running() {
  Kill();
  Join();
}

void Running::Join() {
  if (watcher_.joinable()) watcher_.join();
}

std::shared_ptr<Task> Running::task() const {
  const std::lock_guard lock(mutex_);
  return task_;
}

bool Running::ended() const {
  const auto program = task();
  return program && program->Poll();
}

std::string Running::left_behind() const {
  const std::lock_guard lock(mutex_);
  return left_behind_;
}

Status Running::Start(const StartProgram& start, const Staged& staged,
                      std::function<void(TaskExit)> ended, std::function<void()> activity,
                      std::function<void(const std::string& why)> broken) {
  const JobSpec& spec = here_.config.spec;
  contract::ProgramInput facts =
      FactsOf(here_, staged, start.addresses, start.master_port, !staged.restored.empty());
  facts.from_setup = staged.from_setup;
  facts.metrics_file = keepers_.metrics().File();
  facts.saves_file = here_.SavesFile();
  contract::Environment env = contract::ProgramEnvironment(spec, facts);
  Activate(staged, env);
  TaskCommand command;
  if (spec.argv.empty()) {
    command = ShellCommand(here_, spec.run, std::move(env));
  } else {
    command.argv = spec.argv;
    command.env = std::move(env);
    command.cwd = here_.WorkDir();
  }
  STOKER_TRY(Equip(here_, start.addresses, command));
  hooks_.ProgramStarts(command);
  here_.log.pump().SetBegun();
  auto begun = here_.Runner().Start(command, here_.log.Sink());
  SayWhatIsNotHeld(here_);
  if (!begun.ok()) {
    here_.log.Say("stoker: " + begun.status().ToString());
    return begun.status();
  }
  const std::shared_ptr<Task> program = std::move(*begun);
  if (!command.host.name.empty() && !program->has_host_name()) {
    here_.log.Say("stoker: " + NoHostName());
  }
  {
    const std::lock_guard lock(mutex_);
    task_ = program;
  }
  keepers_.Start(program, std::move(broken));
  RanInput facts_to_keep = FactsToKeep(staged, command);
  facts_to_keep.task = program;
  ran_ = std::make_unique<RanTeller>(here_.store, std::move(facts_to_keep));
  KeepEnvironment(staged);
  watcher_ = std::thread([this, program, ended = std::move(ended), activity = std::move(activity)] {
    Watch(program, ended, activity);
  });
  return Status::Ok();
}

// For other machines, where it was built here.
void Running::KeepEnvironment(const Staged& staged) {
  if (here_.store.traits().requests_are_free || staged.venv.folder.empty()) return;
  KeepEnv keep;
  keep.folder = staged.venv.folder;
  keep.scratch = here_.config.dir;
  keep.passing = here_.container != nullptr;
  keep.say = [this](const std::string& text) { here_.log.Say(text); };
  keep.holds_secret = [this](const std::string& text) { return here_.log.Masked(text) != text; };
  env_keeper_.Start(here_.store, std::move(keep));
}

RanInput Running::FactsToKeep(const Staged& staged, const TaskCommand& command) {
  const JobSpec& spec = here_.config.spec;
  RanInput input;
  input.job = here_.config.job.id;
  input.env = command.env;
  input.cwd = command.cwd;
  input.words = stoker::Join(command.argv, " ");
  input.names_python = !staged.venv.folder.empty() ||
                       input.words.find("python") != std::string::npos ||
                       input.words.find("torchrun") != std::string::npos;
  input.say = [this](const std::string& text) { here_.log.Say(text); };
  RunFacts& facts = input.facts;
  facts.attempt = here_.config.attempt;
  facts.rank = here_.config.rank;
  facts.stoker = STOKER_VERSION;
  if (here_.container) {
    facts.image = spec.container.image;
    facts.image_id = here_.image_id;
  }
  facts.environment = staged.venv.folder;
  facts.environment_key = KeyOf(staged.venv);
  facts.variables = TellVariables(
      command.env, {spec, staged.own.shell, staged.from_setup, staged.own.secrets,
                    [this](const std::string& text) { return here_.log.Masked(text); }});
  if (facts.variables.size() > kMostToldVariables) {
    facts.variables_left_out = static_cast<int>(facts.variables.size() - kMostToldVariables);
    facts.variables.resize(kMostToldVariables);
  }
  return input;
}

void Running::FinishFacts(Duration within) {
  if (ran_) ran_->Finish(within);
}

// Waits for the main process; meanwhile says now and then that the program shows signs of life.
void Running::Watch(const std::shared_ptr<Task>& task, const std::function<void(TaskExit)>& ended,
                    const std::function<void()>& activity) {
  int64_t seen_bytes = -1;
  std::string seen_checkpoint;
  for (int looks = 1;; ++looks) {
    if (here_.place && looks % kLooksAnHour == 0) here_.place->Touch();
    const auto exit = task->Wait(kLookMs);
    if (exit) {
      // Before anything is cleaned up: what is still open for writing now is not whole.
      keepers_.keeper()->ProgramEnded(*exit, signalled_ && !exit->untold);
      env_keeper_.Stop();
      ran_->ProgramEnded();
      if (exit->left_behind > 0) SayLeftBehind(*exit);
      ended(*exit);
      return;
    }
    const int64_t bytes = here_.log.pump().spool().counters().bytes;
    const std::string newest = keepers_.newest();
    if (bytes != seen_bytes || newest != seen_checkpoint) activity();
    seen_bytes = bytes;
    seen_checkpoint = newest;
  }
}

// Of a program that ended by itself: what it had started and not waited for.
void Running::SayLeftBehind(const TaskExit& exit) {
  const bool good = exit.ShellCode() == 0;
  const std::string text = (good ? kLeftBehind : "the program has failed and left ") +
                           std::to_string(exit.left_behind) +
                           (exit.left_behind == 1 ? " process" : " processes") +
                           " behind, which stoker ended: SIGTERM, and " +
                           FormatDuration(kLeftBehindGrace) + " later SIGKILL";
  here_.log.Say("stoker: " + text);
  if (!good) return;  // it has failed: that is what there is to say of it
  const std::lock_guard lock(mutex_);
  left_behind_ = text;
}

bool Running::AskForCheckpoint() {
  const std::string& name = here_.config.spec.checkpoints.signal;
  const int signo = SignalNumber(name);
  keepers_.Hurry();
  const auto program = task();
  if (!program || signo == 0) return false;
  signalled_ = signalled_ || signo == SIGTERM;
  const auto told = program->Signal(signo);
  if (!told.ok()) {
    here_.log.Say("stoker: checkpoints.signal: " + told.status().ToString());
    return false;
  }
  here_.log.Say("stoker: " + TellSignal(name, *told, "checkpoints.signal was sent to nobody"));
  return !told->empty();
}

void Running::Terminate() {
  signalled_ = true;
  env_keeper_.Stop();
  keepers_.Hurry();
  const auto program = task();
  if (!program) return;
  int64_t never = -1;
  term_at_.compare_exchange_strong(never, here_.clock.Mono().ms);
  const auto told = program->Stop();
  if (!told.ok()) {
    here_.log.Say("stoker: SIGTERM: " + told.status().ToString());
  } else if (!told->empty()) {
    here_.log.Say("stoker: " + TellSignal("SIGTERM", *told, ""));
  }
}

void Running::Kill() {
  std::shared_ptr<Task> program;
  {
    const std::lock_guard lock(mutex_);
    program = task_;
    if (program) {
      ReadUsage();
      if (!program->Poll()) signalled_ = true;
    }
  }
  if (program) (void)program->End();
}

void Running::SayNotice(const std::optional<Notice>& notice, const Saving& saving) {
  here_.log.SetLeaving(notice.has_value());
  if (notice) env_keeper_.Stop();  // checkpoints need the wire
  if (!notice) return here_.log.Say("stoker: the notice is withdrawn: this machine stays");
  const int64_t left = std::max<int64_t>(0, (notice->until - here_.clock.Wall()).ms);
  const DrainPlan plan = PlanDrain(Duration::Ms(left), saving);
  const Duration to_end =
      std::min(plan.term_before - plan.kill_before, GraceOf(here_.config.spec.stop_grace, saving));
  here_.log.Say("stoker: notice: this machine is taken in " +
                FormatDuration(Duration::Seconds((left + 999) / 1000)) + ": SIGTERM in " +
                SecondsText(Duration::Ms(left) - plan.term_before) + ", then " +
                SecondsText(to_end) + " to end (" + WhySo(saving) + ")");
}

void Running::SayMove(const Notice& notice, const Saving& saving) {
  const auto left = Duration::Ms(std::max<int64_t>(0, (notice.until - here_.clock.Wall()).ms));
  here_.log.Say("stoker: the job moves to another place: SIGTERM in " +
                SecondsText(left - PlanDrain(left, saving).term_before) + ", then " +
                SecondsText(GraceOf(here_.config.spec.stop_grace, saving)) + " to end (" +
                WhySo(saving) + ")");
}

void Running::Heed(const PlatformAdvice& advice) {
  here_.log.SetLeaving(true);
  here_.log.Say("stoker: the platform recommends to leave this machine (" + Printable(advice.what) +
                "): it may be taken soon. The program goes on; a checkpoint is asked for now");
  // SIGTERM ends a program, and nothing has to end yet.
  if (here_.config.spec.checkpoints.signal != "SIGTERM") AskForCheckpoint();
}

Saving Running::SavingNow(bool ended_unsaved) const {
  Saving saving = keepers_.saves();
  const auto program = task();
  saving.at_sigterm = program && program->SavesAtStop();
  saving.ended_unsaved = ended_unsaved;
  return saving;
}

// NodeReport::at_term.
std::string Running::AtTerm(const std::shared_ptr<Task>& program) const {
  const auto written = keepers_.written();
  const auto exit = program ? program->Poll() : std::nullopt;
  if (term_at_ < 0 || !written || !exit || exit->signal == SIGKILL) return "";
  if (!written->any) return "";  // there was nothing to save yet: that tells nothing
  return written->last.ms > term_at_ ? "saved" : "unsaved";
}

void Running::ReadUsage() {
  usage_read_ = here_.clock.Mono();
  usage_ = task_->Usage();
}

UsageInput Running::Complete(NodeReport& report) {
  const std::lock_guard lock(mutex_);
  report.mechanism = task_ ? task_->mechanism() : "";
  if (task_ && !task_->Poll()) ReadUsage();
  peak_resident_ = std::max(peak_resident_, usage_.peak_bytes);
  report.cpu_seconds = usage_.cpu_seconds;
  report.resident_bytes = usage_.resident_bytes;
  report.peak_resident_bytes = peak_resident_;
  report.at_term = AtTerm(task_);
  return {usage_read_, task_ ? here_.WorkDir() : ""};
}

}  // namespace stoker::node
