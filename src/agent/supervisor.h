// SPDX-License-Identifier: Apache-2.0
// What a node's agent does next: a state machine without clock, thread or I/O. The loop around it
// (node/agent.h in the product, an event queue in the simulator) carries actions out and feeds
// back what came of them.
//
//   Idle ──record lists our launch──▶ Waiting ──attempt begins──▶ Claiming ──won──▶ Staging
//   Staging ──restored, set up──▶ Ready ──all nodes ready──▶ Running
//   Running ──told to stop, notice nearly over, limit──▶ Stopping ──grace over──▶ Killing
//   Running, Stopping, Killing ──program ended──▶ Checking ──▶ Finalizing ──▶ Ended
//   Ended ──record ends the attempt and has another one with our launch──▶ Waiting …
//   any ──launch closed or job over, and nothing left to upload──▶ Off
//   Ended ──nobody takes note of it for a long time──▶ Off
//   Idle, Waiting ──only others may look after the job, and nobody does for a long time──▶ Off
//   Idle, Ended ──the job failed, and its machine is kept──▶ Kept ──its time is over──▶ Off
//
// Why Checking: a program that was killed by its machine's shutdown looks just like one that
// crashed. The notice is asked for once more after the end, before the end is called an error.
// Why Finalizing: a report of phase Ended promises that every log line and every checkpoint that
// settled is in the store. The node stays Ended, and that report stays the one to publish, until
// the record says that the attempt is Ended: nothing that the attempt waits for can get lost.
//
// What the loop owes: a Tick at wake(); RecordRead and ReportsRead again and again, also right
// after a Finalized; and the report written again now and then while publishes() (another machine
// of our launch, or of the one that ours replaced, may have written over it before it knew).
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/status.h"
#include "job/job.h"
#include "policy/drain.h"
#include "port/process_runner.h"

namespace stoker {

enum class AgentPhase {
  kIdle,
  kWaiting,
  kClaiming,
  kStaging,
  kReady,
  kRunning,
  kStopping,
  kKilling,
  kChecking,
  kFinalizing,
  kEnded,
  kKept,
  kOff,
};
std::string_view Name(AgentPhase phase);

enum class ClaimOutcome { kWon, kOursBefore, kOther };

// Both clocks of this machine at one moment. `wall` is only compared with the platform's notice,
// which is of the same machine.
struct Instant {
  MonoTime mono;
  WallTime wall;
};

// ---- what happened ----
struct RecordRead {
  Job job;
  std::optional<Instant> at = {};          // before it was read; unset = just now
  std::optional<WallTime> store_now = {};  // then, by the clock of the record's times
  bool told = true;  // a report of this node was in the store before it was read
};
struct ReportsRead {
  std::vector<NodeReport> reports;
};
struct ClaimAnswered {
  int attempt = 0;
  ClaimOutcome outcome = ClaimOutcome::kOther;
  std::optional<NodeReport> previous;  // with kOursBefore: what the former agent process reported
  bool rebooted = false;               // with kOursBefore: the machine has been down since
};
struct StagingEnded {
  int attempt = 0;
  Status status;
  bool setup_failed = false;  // the user's setup, not stoker's part
  int setup_code = 0;
  std::string restored;
  std::string restore_error;
  int master_port = 0;
};
struct ProgramStarted {
  Status status;
};
struct ProgramEnded {
  TaskExit exit;
  int64_t memory_limit = 0;  // bytes; over which the kernel ended it; 0 = not for that
};
struct EndChecked {
  bool taken = false;
};  // a notice is out, or the host is shutting down
struct Finalized {
  int attempt = 0;
};
struct NoticeRead {
  std::optional<Notice> notice;
};
// The program was signalled for a notice, but not by TerminateProgram: it got checkpoints.signal,
// or SIGTERM from the platform, past this process (Slurm, when it takes a node). An exit that
// follows is no end of the work, even with code 0.
struct ProgramSignalled {
  bool to_end = false;  // by SIGTERM: it ends of it, also when the notice is withdrawn
};
// How the program saves, as it is when a notice has come.
struct SavingSeen {
  Saving saving;
};
struct Activity {};  // a log line or a checkpoint: the program is alive
// A rule of the job (metrics/rules/) is broken by what the program says of its training.
struct RuleBroken {
  int attempt = 0;
  std::string why;  // the rule and its numbers; printable
};
struct Tick {};
using AgentEvent = std::variant<RecordRead, ReportsRead, ClaimAnswered, StagingEnded,
                                ProgramStarted, ProgramEnded, EndChecked, Finalized, NoticeRead,
                                ProgramSignalled, SavingSeen, Activity, RuleBroken, Tick>;

// ---- what to do ----
struct ClaimSlot {
  int attempt;
  int rank;
};
struct StageNode {
  int attempt;
  int rank;
  std::string restore;
};
struct CancelStaging {};
struct StartProgram {
  int attempt;
  int rank;
  std::vector<std::string> addresses;  // by rank
  int master_port;
};
struct AskForCheckpoint {};  // the job's signal, to programs that handle it
struct TerminateProgram {};  // SIGTERM, by the rule of sys/task/signal_choice.h
struct KillProgram {};       // ends every process
// Ask for a notice once more. `killed`: a signal ended the program, which may have come from a host
// that shuts down, and has not told this process yet.
struct CheckEnd {
  bool killed = false;
};
struct FinalizeAttempt {
  int attempt;
  TaskExit exit;
  bool started;    // a program ran, maybe under a former agent process
  bool signalled;  // it did not end by itself: we, or the death of a former agent, ended it
  std::optional<MonoTime> deadline;
};
// Until when the next try to upload what is left may take. Nobody gives up while the machine lives:
// one that has outlived its notice may stay, and lines and files that are not in the store are lost
// with it.
inline MonoTime LaterDeadline(MonoTime deadline, MonoTime now) {
  return deadline > now ? deadline : now + Duration::Seconds(5);
}
// Once a cancel was read and the program had its grace: until when what is left may still be kept,
// and from when on the node leaves whatever it is doing, with a store or without.
inline constexpr Duration kSaveAfterCancel = Duration::Minutes(1);
inline constexpr Duration kLeaveAfterCancel = Duration::Minutes(2);
// Once its end is in the store: how long a node waits for somebody to take note of it, while its
// store answers and no peer works. Nobody looks after the job then; what it has made is kept.
inline constexpr Duration kLeaveAfterEnd = Duration::Minutes(15);
// Where only others may look after the job: how long a node that has nothing to do waits for
// somebody to move the record, while its store answers. Nobody looks then, and nothing would ever
// end its machine; whoever looks next asks for another.
inline constexpr Duration kLeaveUnwatched = Duration::Hours(1);
struct Publish {};  // the report changed
struct Hurry {};    // run reconcile now
// The machine is to end at `until`, by its own clock, whatever becomes of the agent; nothing moves
// its lease any more.
struct KeepMachine {
  WallTime until;
};
struct PowerOff {
  std::string why;
  bool unusual = false;  // whoever looks for the machine should be told why
};
using AgentAction = std::variant<ClaimSlot, StageNode, CancelStaging, StartProgram,
                                 AskForCheckpoint, TerminateProgram, KillProgram, CheckEnd,
                                 FinalizeAttempt, Publish, Hurry, KeepMachine, PowerOff>;

struct SupervisorConfig {
  std::string job;
  int launch = 0;
  std::string instance_id;
  std::string incarnation;
  std::string address;
  Duration stop_grace = Duration::Seconds(30);
  std::optional<Duration> max_duration;
  std::optional<Duration> stall;
  // Nodes of the job make no passes (recovery: controller).
  bool left_to_others = false;
};

// Not thread-safe: one owner steps it.
class Supervisor {
 public:
  explicit Supervisor(SupervisorConfig config);
  std::vector<AgentAction> Step(const AgentEvent& event, Instant now);

  AgentPhase phase() const { return phase_; }
  // The part of the node's report that the supervisor knows; the loop adds usage and counters.
  const NodeReport& report() const { return report_; }
  // False while the slot of report().attempt may be another's: the report must not be written.
  bool publishes() const;
  // It waits for others of its job, and holds its machine meanwhile: its attempt has not begun, or
  // could, and of another node of it nothing has been heard, as that one's machine has not come.
  bool gathers() const;
  // From when on what is not in the store is not tried any more; unset = nobody said so.
  std::optional<MonoTime> saves_until() const;
  // An attempt of the job ended at SIGTERM, and had saved nothing: Saving::ended_unsaved.
  bool ended_unsaved() const { return ended_unsaved_; }
  // When a Tick must come at the latest; unset = none is needed.
  std::optional<MonoTime> wake() const;

 private:
  enum class StopCause { kNone, kTold, kNotice, kLimit, kStall, kRule };
  using Actions = std::vector<AgentAction>;

  bool RecordIsFresh(Instant now) const;
  bool IsUnwatched(Instant now) const;
  void On(const RecordRead& event, Instant now, Actions& out);
  void On(const ReportsRead& event, Instant now, Actions& out);
  void On(const ClaimAnswered& event, Instant now, Actions& out);
  void On(const StagingEnded& event, Instant now, Actions& out);
  void On(const ProgramStarted& event, Instant now, Actions& out);
  void On(const ProgramEnded& event, Instant now, Actions& out);
  void On(const EndChecked& event, Instant now, Actions& out);
  void On(const Finalized& event, Instant now, Actions& out);
  void On(const NoticeRead& event, Instant now, Actions& out);
  void On(const ProgramSignalled& event, Instant now, Actions& out);
  void On(const SavingSeen& event, Instant now, Actions& out);
  void On(const Activity& event, Instant now, Actions& out);
  void On(const RuleBroken& event, Instant now, Actions& out);
  void On(const Tick& event, Instant now, Actions& out);

  void Assign(const Attempt& attempt, Actions& out);
  void FindWork(const Job& job, Actions& out);
  void HearKept(const Launch* launch, Instant now);
  void StayKept(Actions& out);
  void Claim(Actions& out);
  void Exited(const TaskExit& exit, Instant now, Actions& out);
  void Resume(const NodeReport& before, bool stopped, Actions& out);
  void Stop(StopCause cause, Instant now, Actions& out);
  void EndWithoutProgram(Ending ending, bool stopped, Actions& out);
  Ending JudgeExit(bool taken) const;
  // Its machine is taken, or its job moves.
  Ending Leaving(const std::string& more) const;
  // What the platform and the record tell, as one notice.
  void HeedMove(const Job& job, Instant now, Actions& out);
  void HeedNotices(Instant now, Actions& out);
  void PlanStop(Instant now);
  Ending JudgeSetup(bool taken) const;
  void Finalize(Ending ending, Actions& out);
  void SetPhase(AgentPhase phase, NodePhase shown, Actions& out);
  void TryStart(Instant now, Actions& out);
  void CheckTimes(Instant now, Actions& out);
  void HearReports(const std::vector<NodeReport>& reports, Instant now);
  int64_t RunMs(Instant now) const;

  SupervisorConfig config_;
  AgentPhase phase_ = AgentPhase::kIdle;
  NodeReport report_;
  Attempt attempt_;  // as last read, valid from Waiting on
  Saving saving_;
  bool told_to_end_ = false;  // ProgramSignalled::to_end, in this attempt
  bool ended_unsaved_ = false;
  int64_t rev_ = 0;                     // of the newest record read
  std::optional<Instant> record_at_;    // when that was
  bool told_ = false;                   // RecordRead::told, once it was so
  MonoTime still_since_;                // since when it has been read without a change
  int finished_attempt_ = 0;            // newest that this agent reported Ended
  bool must_leave_ = false;             // launch closed or job over
  Duration store_ahead_;                // the clock of the record's times is, of this machine's
  std::optional<WallTime> kept_until_;  // as the record has it
  std::optional<Instant> kept_end_;     // that, by this machine's clocks
  WallTime told_end_;                   // the newest that KeepMachine was given
  std::optional<MonoTime> cancelled_;   // when a cancel was first read
  int64_t earlier_run_ms_ = 0;          // program time of ended attempts
  std::vector<NodeReport> peers_;
  // Since when its end is in the store, and nobody has moved the record and no peer said that it
  // works.
  std::optional<MonoTime> unnoted_since_;
  StopCause stop_cause_ = StopCause::kNone;
  std::string rule_why_;  // with kRule
  bool signalled_ = false;
  bool started_ = false;
  std::string setup_error_;  // the setup failed, and why
  TaskExit exit_;
  int64_t memory_limit_ = 0;            // of ProgramEnded
  std::optional<TaskExit> early_exit_;  // the end of a program that was told before its start
  MonoTime started_at_;
  MonoTime last_activity_;
  std::optional<Notice> taken_;  // what the platform tells
  std::optional<Notice> moves_;  // what the record tells
  std::optional<MonoTime> kill_at_;
  std::optional<MonoTime> term_at_;  // because of a notice, as the next two
  std::optional<MonoTime> kill_by_;
  std::optional<MonoTime> notice_end_;
};

}  // namespace stoker
