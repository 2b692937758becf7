// SPDX-License-Identifier: Apache-2.0
// supervisor_record.cc has what a node makes of the record and of the others' reports.
#include "agent/supervisor.h"

#include <algorithm>
#include <csignal>

#include "base/deliberate_bug.h"
#include "base/text.h"

namespace stoker {
namespace {

Ending MakeEnding(EndReason reason, std::string why) {
  Ending ending;
  ending.reason = reason;
  ending.why = std::move(why);
  return ending;
}

constexpr char kAgentDied[] = "the agent died and was started again";
constexpr char kStopped[] = "its platform stopped the machine, as it had said";
constexpr char kDiedSaving[] =
    "the program had ended well, but the agent died before all that it left was saved";

// What the kernel ends a program with for its own faults.
std::string_view Fault(int signal) {
  switch (signal) {
    case SIGSEGV:
      return "segmentation fault";
    case SIGABRT:
      return "abort";
    case SIGBUS:
      return "bus error";
    case SIGFPE:
      return "arithmetic fault";
    case SIGILL:
      return "illegal instruction";
    default:
      return "";
  }
}

// The signal that ended it, as its parent saw it, or as a shell reports that of a command; else 0.
int SignalOf(const TaskExit& exit) {
  const int code = exit.ShellCode();
  return code > 128 && code <= 128 + SIGSYS ? code - 128 : 0;
}

std::string Describe(const TaskExit& exit, int64_t memory_limit) {
  if (exit.out_of_memory && memory_limit > 0) {
    return "the kernel killed it: out of memory, over its limit of " + HumanSize(memory_limit) +
           " (resources.memory)";
  }
  if (exit.out_of_memory) return "the kernel killed it: out of memory";
  if (exit.signal != 0) return "the program was ended by signal " + std::to_string(exit.signal);
  return "the program ended with exit code " + std::to_string(exit.exit_code);
}

// The same of a program that nobody had told to stop.
std::string DescribeFailure(const TaskExit& exit, int64_t memory_limit) {
  const int signal = SignalOf(exit);
  if (exit.out_of_memory || signal == 0) return Describe(exit, memory_limit);
  const std::string number = std::to_string(signal);
  const std::string_view fault = Fault(signal);
  const std::string which = number + (fault.empty() ? "" : " (" + std::string(fault) + ")");
  const std::string memory = exit.memory_short ? "; memory may have run out" : "";
  if (exit.signal == 0) {
    return Describe(exit, memory_limit) + ", as a shell says of what signal " + which + " killed" +
           memory;
  }
  if (exit.ours) return Describe(exit, memory_limit) + ", which stoker had sent";
  return "killed by signal " + which + ", not by stoker" + memory;
}

bool HasProgram(AgentPhase phase) {
  return phase == AgentPhase::kRunning || phase == AgentPhase::kStopping ||
         phase == AgentPhase::kKilling;
}

}  // namespace

std::string_view Name(AgentPhase phase) {
  static constexpr std::string_view kNames[] = {
      "idle",    "waiting",  "claiming",   "staging", "ready", "running", "stopping",
      "killing", "checking", "finalizing", "ended",   "kept",  "off"};
  return kNames[static_cast<size_t>(phase)];
}

Supervisor::Supervisor(SupervisorConfig config) : config_(std::move(config)) {
  report_.job = config_.job;
  report_.launch = config_.launch;
  report_.instance_id = config_.instance_id;
  report_.incarnation = config_.incarnation;
  report_.address = config_.address;
}

std::vector<AgentAction> Supervisor::Step(const AgentEvent& event, Instant now) {
  Actions out;
  if (phase_ == AgentPhase::kOff) return out;
  std::visit([&](const auto& e) { On(e, now, out); }, event);
  CheckTimes(now, out);
  return out;
}

std::optional<MonoTime> Supervisor::wake() const {
  std::optional<MonoTime> first;
  const auto consider = [&](MonoTime t) {
    if (!first || t < *first) first = t;
  };
  const bool may_stop = phase_ == AgentPhase::kRunning || phase_ == AgentPhase::kReady ||
                        (phase_ == AgentPhase::kStaging && stop_cause_ == StopCause::kNone);
  if (may_stop && term_at_) consider(*term_at_);
  if (phase_ == AgentPhase::kRunning && started_) {
    if (config_.max_duration) {
      consider(started_at_ + (*config_.max_duration - Duration{earlier_run_ms_}));
    }
    if (config_.stall) consider(last_activity_ + *config_.stall);
  }
  if (phase_ == AgentPhase::kStopping && kill_at_) consider(*kill_at_);
  if (phase_ == AgentPhase::kKept && !BugIsOn("kept-for-ever")) consider(kept_end_->mono);
  if (cancelled_) consider(*cancelled_ + config_.stop_grace + kLeaveAfterCancel);
  return first;
}

std::optional<MonoTime> Supervisor::saves_until() const {
  if (!cancelled_) return std::nullopt;
  return *cancelled_ + config_.stop_grace + kSaveAfterCancel;
}

bool Supervisor::publishes() const {
  return report_.attempt > 0 && phase_ != AgentPhase::kIdle && phase_ != AgentPhase::kClaiming &&
         phase_ != AgentPhase::kKept && phase_ != AgentPhase::kOff;
}

void Supervisor::SetPhase(AgentPhase phase, NodePhase shown, Actions& out) {
  phase_ = phase;
  report_.phase = shown;
  out.push_back(Publish{});
}

void Supervisor::On(const ClaimAnswered& event, Instant now, Actions& out) {
  if (phase_ != AgentPhase::kClaiming || event.attempt != attempt_.number) return;
  const bool won = event.outcome == ClaimOutcome::kWon || BugIsOn("claim-ignored");
  if (event.outcome == ClaimOutcome::kOther && !won) {
    phase_ = AgentPhase::kOff;
    out.push_back(PowerOff{"another machine holds attempt " + std::to_string(attempt_.number) +
                           " of this slot"});
    return;
  }
  if (won) {
    if (must_leave_ || attempt_.ending) {
      EndWithoutProgram(MakeEnding(EndReason::kCancelled, "stopped before it began"), true, out);
      return;
    }
    SetPhase(AgentPhase::kStaging, NodePhase::kStaging, out);
    out.push_back(StageNode{attempt_.number, report_.rank, attempt_.restore});
    if (report_.notice) out.push_back(Hurry{});  // could not be told before the claim
    return;
  }
  // A former agent process on this machine had the slot. Its program died with it.
  if (event.previous && event.previous->attempt == attempt_.number) {
    const NodeReport& before = *event.previous;
    // Until the notice has been asked for again it stands: else it would look withdrawn. That of a
    // machine which has been down meanwhile has been kept.
    const bool taken = before.notice && before.notice->action != kMoveAction;
    if (!report_.notice && taken && !event.rebooted) On(NoticeRead{before.notice}, now, out);
    Resume(before, event.rebooted && taken, out);
  } else {
    EndWithoutProgram(MakeEnding(EndReason::kNodeLost, kAgentDied), false, out);
  }
}

// Goes on where a former agent process stopped: an end that it had judged stands, and only has to
// be finalized; else the program died with it. Completed stands only when everything had been
// uploaded: nobody knows any more which files had settled.
void Supervisor::Resume(const NodeReport& before, bool stopped, Actions& out) {
  report_.restored = before.restored;
  report_.newest_checkpoint = before.newest_checkpoint;
  report_.run_ms = before.run_ms;
  const bool cut_short = before.end && before.end->reason == EndReason::kCompleted &&
                         before.phase != NodePhase::kEnded;
  if (!before.end && stopped) {
    EndWithoutProgram(MakeEnding(EndReason::kInterrupted, kStopped), false, out);
    return;
  }
  if (!before.end || cut_short) {
    EndWithoutProgram(MakeEnding(EndReason::kNodeLost, cut_short ? kDiedSaving : kAgentDied), false,
                      out);
    return;
  }
  report_.stopped = before.stopped;
  report_.end_checked = before.end_checked;
  report_.stderr_tail = before.stderr_tail;
  report_.missing_outputs = before.missing_outputs;
  report_.unkept = before.unkept;
  report_.unkept_in = before.unkept_in;
  report_.at_term = before.at_term;
  report_.left_newer_ms = before.left_newer_ms;
  report_.restore_error = before.restore_error;
  exit_.exit_code = before.end->exit_code;
  exit_.signal = before.end->signal;
  exit_.out_of_memory = before.end->out_of_memory;
  started_ = before.run_ms > 0 || before.end->reason == EndReason::kCompleted;
  signalled_ =
      before.end->reason != EndReason::kCompleted && before.end->reason != EndReason::kUserError;
  Finalize(*before.end, out);
}

void Supervisor::On(const StagingEnded& event, Instant now, Actions& out) {
  if (phase_ != AgentPhase::kStaging || event.attempt != attempt_.number) return;
  report_.restored = event.restored;
  report_.restore_error = event.restore_error;
  if (stop_cause_ != StopCause::kNone) {
    const bool notice = stop_cause_ == StopCause::kNotice || report_.notice;
    EndWithoutProgram(
        notice ? Leaving("") : MakeEnding(EndReason::kCancelled, "stopped while it was set up"),
        stop_cause_ == StopCause::kTold, out);
    return;
  }
  if (!event.status.ok() && event.setup_failed) {
    // The setup is the user's program too: a shutdown of the machine kills it just the same.
    setup_error_ = event.status.ToString();
    exit_.exit_code = event.setup_code;
    phase_ = AgentPhase::kChecking;
    out.push_back(CheckEnd{});
    return;
  }
  if (!event.status.ok()) {
    EndWithoutProgram(MakeEnding(EndReason::kNodeFault, event.status.ToString()), false, out);
    return;
  }
  report_.master_port = event.master_port;
  SetPhase(AgentPhase::kReady, NodePhase::kReady, out);
  TryStart(now, out);
}

void Supervisor::On(const ProgramStarted& event, Instant now, Actions& out) {
  if (!HasProgram(phase_)) return;
  started_at_ = now.mono;
  last_activity_ = now.mono;
  if (!event.status.ok()) {
    const bool denied = event.status.Is(Code::kDenied);
    const bool users =
        denied || event.status.Is(Code::kNotFound) || event.status.Is(Code::kInvalid);
    Ending ending =
        MakeEnding(users ? EndReason::kUserError : EndReason::kNodeFault, event.status.ToString());
    if (users) ending.exit_code = denied ? 126 : 127;  // as a shell reports it
    report_.end_checked = true;
    EndWithoutProgram(ending, stop_cause_ == StopCause::kTold, out);
    return;
  }
  started_ = true;
  if (phase_ == AgentPhase::kRunning) {
    report_.phase = report_.notice ? NodePhase::kDraining : NodePhase::kRunning;
    out.push_back(Publish{});
    out.push_back(Hurry{});
  } else if (phase_ == AgentPhase::kStopping) {  // told to stop before there was a process
    out.push_back(TerminateProgram{});
  } else {
    out.push_back(KillProgram{});
  }
  if (early_exit_) Exited(*early_exit_, now, out);
}

// A short program may be over before the loop has said that it was started.
void Supervisor::On(const ProgramEnded& event, Instant now, Actions& out) {
  if (!HasProgram(phase_)) return;
  memory_limit_ = event.memory_limit;
  if (started_) {
    Exited(event.exit, now, out);
  } else {
    early_exit_ = event.exit;
  }
}

void Supervisor::Exited(const TaskExit& exit, Instant now, Actions& out) {
  exit_ = exit;
  // What was sent since was for what it had left behind; a platform signals all by itself.
  if (exit_.untold && !told_to_end_) signalled_ = false;
  report_.run_ms = RunMs(now);
  // Whatever it left behind ends with it; harmless when nothing did.
  out.push_back(KillProgram{});
  const bool completed = exit_.signal == 0 && exit_.exit_code == 0 && !signalled_;
  phase_ = AgentPhase::kChecking;
  if (completed || report_.notice || stop_cause_ != StopCause::kNone) {
    Finalize(JudgeExit(report_.notice.has_value()), out);
  } else {
    out.push_back(CheckEnd{SignalOf(exit_) != 0 && Fault(SignalOf(exit_)).empty()});
  }
}

void Supervisor::On(const EndChecked& event, Instant, Actions& out) {
  if (phase_ != AgentPhase::kChecking) return;
  report_.end_checked = !event.taken;
  if (setup_error_.empty()) {
    Finalize(JudgeExit(event.taken || report_.notice), out);
  } else {
    EndWithoutProgram(JudgeSetup(event.taken || report_.notice), stop_cause_ == StopCause::kTold,
                      out);
  }
}

Ending Supervisor::JudgeSetup(bool taken) const {
  Ending ending = MakeEnding(EndReason::kUserError, setup_error_);
  ending.exit_code = exit_.exit_code;
  if (taken) {
    const Ending leaving = Leaving(ending.why);
    ending.reason = leaving.reason;
    ending.why = leaving.why;
  }
  return ending;
}

Ending Supervisor::Leaving(const std::string& more) const {
  const bool moves = report_.notice && report_.notice->action == kMoveAction;
  return MakeEnding(moves ? EndReason::kMoved : EndReason::kInterrupted,
                    (moves ? "stopped for the move" : "its platform takes the machine") +
                        (more.empty() ? "" : "; " + more));
}

Ending Supervisor::JudgeExit(bool taken) const {
  Ending ending;
  ending.exit_code = exit_.exit_code;
  ending.signal = exit_.signal;
  ending.out_of_memory = exit_.out_of_memory;
  ending.why = Describe(exit_, memory_limit_);
  const bool zero = exit_.signal == 0 && exit_.exit_code == 0;
  if (zero && (!signalled_ || BugIsOn("told-is-completed"))) {
    ending.reason = EndReason::kCompleted;
  } else if (stop_cause_ == StopCause::kLimit) {
    ending.reason = EndReason::kTimedOut;
    ending.why = "max_duration of " + HumanDuration(*config_.max_duration) + " is over";
  } else if (stop_cause_ == StopCause::kStall) {
    ending.reason = EndReason::kStoppedByRule;
    ending.why = "no output and no checkpoint for " + HumanDuration(*config_.stall);
  } else if (stop_cause_ == StopCause::kRule) {
    ending.reason = EndReason::kStoppedByRule;
    ending.why = rule_why_;
  } else if (taken || told_to_end_ || stop_cause_ == StopCause::kNotice) {
    const Ending leaving = Leaving(ending.why);
    ending.reason = leaving.reason;
    ending.why = leaving.why;
  } else if (stop_cause_ == StopCause::kTold) {
    ending.reason = EndReason::kCancelled;
    ending.why = "stopped as told; " + ending.why;
  } else if (exit_.unwatched && !exit_.out_of_memory) {
    ending.reason = EndReason::kNodeFault;
    ending.why = "the process that stoker had put around the program was killed, and it with it";
  } else {
    ending.reason = EndReason::kUserError;
    ending.why = DescribeFailure(exit_, memory_limit_);
  }
  return ending;
}

void Supervisor::Finalize(Ending ending, Actions& out) {
  report_.end = std::move(ending);
  report_.stopped = report_.stopped || stop_cause_ == StopCause::kTold;
  phase_ = AgentPhase::kFinalizing;
  report_.phase = BugIsOn("ended-before-uploaded")
                      ? NodePhase::kEnded
                      : NodePhase::kStopping;  // Ended is promised only when everything is uploaded
  if (report_.end->reason != EndReason::kCompleted && !report_.stopped) {
    out.push_back(Publish{});  // the other nodes are stopped without waiting for the uploads
    out.push_back(Hurry{});
  }
  out.push_back(FinalizeAttempt{attempt_.number, exit_, started_, signalled_, notice_end_});
}

void Supervisor::EndWithoutProgram(Ending ending, bool stopped, Actions& out) {
  report_.stopped = stopped;
  started_ = false;
  Finalize(std::move(ending), out);
}

void Supervisor::On(const Finalized& event, Instant, Actions& out) {
  if (phase_ != AgentPhase::kFinalizing || event.attempt != attempt_.number) return;
  finished_attempt_ = attempt_.number;
  SetPhase(AgentPhase::kEnded, NodePhase::kEnded, out);
  out.push_back(Hurry{});
}

void Supervisor::On(const NoticeRead& event, Instant now, Actions& out) {
  taken_ = event.notice;
  HeedNotices(now, out);
}

// By the machine's own clock, from when it is first read.
void Supervisor::HeedMove(const Job& job, Instant now, Actions& out) {
  const bool told = attempt_.number > 0 && IsToldToMove(job, attempt_.number);
  if (!told) {
    moves_.reset();
  } else if (!moves_) {
    moves_ = Notice{kMoveAction, now.wall + job.move->lead};
  }
  HeedNotices(now, out);
}

void Supervisor::HeedNotices(Instant now, Actions& out) {
  const std::optional<Notice>& notice = taken_ ? taken_ : moves_;
  if (notice == report_.notice || phase_ == AgentPhase::kKept) return;
  report_.notice = notice;
  if (publishes()) {
    out.push_back(Publish{});
    out.push_back(Hurry{});
  }
  if (!notice) {  // withdrawn
    term_at_.reset();
    kill_by_.reset();
    notice_end_.reset();
    // What the program was told for it counts no more.
    if (stop_cause_ == StopCause::kNone && !told_to_end_) signalled_ = false;
    if (report_.phase == NodePhase::kDraining) report_.phase = NodePhase::kRunning;
    return;
  }
  PlanStop(now);
  if (phase_ == AgentPhase::kRunning) {
    report_.phase = NodePhase::kDraining;
    out.push_back(AskForCheckpoint{});
  }
}

void Supervisor::PlanStop(Instant now) {
  const Duration lead = report_.notice->until - now.wall;
  const DrainPlan plan = PlanDrain(lead, saving_);
  const MonoTime until = now.mono + lead;
  term_at_ = until - plan.term_before;
  notice_end_.reset();
  kill_by_.reset();
  // The machine of a job that moves stays until all is saved.
  if (taken_) {
    notice_end_ = until;
    kill_by_ = until - plan.kill_before;
  }
  if (kill_at_ && kill_by_) kill_at_ = std::min(*kill_at_, *kill_by_);
}

void Supervisor::On(const SavingSeen& event, Instant now, Actions&) {
  if (BugIsOn("saving-unheard")) return;
  saving_ = event.saving;
  if (report_.notice && phase_ == AgentPhase::kRunning) PlanStop(now);
}

void Supervisor::Stop(StopCause cause, Instant now, Actions& out) {
  switch (phase_) {
    case AgentPhase::kStaging:
      if (stop_cause_ == StopCause::kNone) out.push_back(CancelStaging{});
      stop_cause_ = cause;
      return;
    case AgentPhase::kReady:
      stop_cause_ = cause;
      EndWithoutProgram(report_.notice
                            ? Leaving("")
                            : MakeEnding(EndReason::kCancelled, "stopped before it began"),
                        cause == StopCause::kTold, out);
      return;
    case AgentPhase::kRunning:
      stop_cause_ = cause;
      signalled_ = true;
      phase_ = AgentPhase::kStopping;
      report_.phase = NodePhase::kStopping;
      kill_at_ = now.mono +
                 GraceOf(config_.stop_grace, saving_) * (BugIsOn("grace-in-wrong-unit") ? 1000 : 1);
      if (BugIsOn("grace-forgotten")) kill_at_ = now.mono;
      if (kill_by_) kill_at_ = std::min(*kill_at_, *kill_by_);
      out.push_back(TerminateProgram{});
      out.push_back(Publish{});
      return;
    default:
      return;
  }
}

void Supervisor::On(const ProgramSignalled& event, Instant, Actions&) {
  if (!HasProgram(phase_)) return;
  signalled_ = true;
  told_to_end_ = told_to_end_ || event.to_end;
}

void Supervisor::On(const Activity&, Instant now, Actions&) { last_activity_ = now.mono; }
void Supervisor::On(const RuleBroken& event, Instant now, Actions& out) {
  if (phase_ != AgentPhase::kRunning || event.attempt != attempt_.number) return;
  rule_why_ = event.why;
  if (BugIsOn("broken-rule-unheard")) return;
  Stop(StopCause::kRule, now, out);
}

void Supervisor::On(const Tick&, Instant, Actions&) {}

void Supervisor::CheckTimes(Instant now, Actions& out) {
  if (phase_ == AgentPhase::kEnded && unnoted_since_ &&
      now.mono - *unnoted_since_ >= kLeaveAfterEnd && RecordIsFresh(now)) {
    phase_ = AgentPhase::kOff;
    out.push_back(PowerOff{"its end is in the store, and nobody has taken note of it for " +
                           HumanDuration(kLeaveAfterEnd)});
    return;
  }
  if (phase_ == AgentPhase::kKept && now.mono >= kept_end_->mono && !BugIsOn("kept-for-ever")) {
    phase_ = AgentPhase::kOff;
    out.push_back(PowerOff{"the job failed, and the time that it was kept for is over"});
    return;
  }
  if (IsUnwatched(now)) {
    phase_ = AgentPhase::kOff;
    out.push_back(
        PowerOff{"only others may look after the job (recovery: controller), and nobody "
                 "has moved its record for " +
                     HumanDuration(kLeaveUnwatched),
                 true});
    return;
  }
  if (cancelled_ && now.mono >= *cancelled_ + config_.stop_grace + kLeaveAfterCancel) {
    phase_ = AgentPhase::kOff;
    out.push_back(PowerOff{"the job was cancelled, and this node did not finish in time"});
    return;
  }
  if (term_at_ && now.mono >= *term_at_ &&
      (phase_ == AgentPhase::kRunning || phase_ == AgentPhase::kReady ||
       (phase_ == AgentPhase::kStaging && stop_cause_ == StopCause::kNone))) {
    Stop(StopCause::kNotice, now, out);
  }
  if (phase_ == AgentPhase::kRunning && started_) {
    report_.run_ms = RunMs(now);
    if (config_.max_duration &&
        Duration{earlier_run_ms_ + report_.run_ms} >= *config_.max_duration) {
      Stop(StopCause::kLimit, now, out);
    } else if (config_.stall && now.mono - last_activity_ >= *config_.stall) {
      Stop(StopCause::kStall, now, out);
    }
  }
  if (phase_ == AgentPhase::kStopping && kill_at_ && now.mono >= *kill_at_) {
    phase_ = AgentPhase::kKilling;
    out.push_back(KillProgram{});
  }
}

int64_t Supervisor::RunMs(Instant now) const {
  return started_ ? (now.mono - started_at_).ms : report_.run_ms;
}

}  // namespace stoker
