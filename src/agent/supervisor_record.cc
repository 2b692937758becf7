// SPDX-License-Identifier: Apache-2.0
// What a node makes of what it reads: the record of its job, and the reports of the others.
#include <algorithm>

#include "agent/supervisor.h"
#include "base/deliberate_bug.h"

namespace stoker {
namespace {

// Others give a node up no sooner than a minute after it was last seen.
constexpr Duration kRecordIsFresh = Duration::Seconds(30);
// Between two readings, while the store answers: several looks at the slowest pace.
constexpr Duration kRecordIsAway = Duration::Minutes(5);

}  // namespace

void Supervisor::On(const RecordRead& event, Instant now, Actions& out) {
  const Job& job = event.job;
  if (job.rev < rev_) return;
  // Who looks after it may have been cut off from the store as this node was.
  const bool was_away = !record_at_ || now.mono - record_at_->mono > kRecordIsAway;
  if (job.rev > rev_ || was_away) {
    still_since_ = now.mono;
    if (unnoted_since_) unnoted_since_ = now.mono;
  }
  rev_ = job.rev;
  record_at_ = event.at.value_or(now);
  told_ = told_ || event.told;
  if (job.cancel && !cancelled_ && !BugIsOn("cancel-forgotten")) cancelled_ = now.mono;
  const Launch* launch = FindLaunch(job, config_.launch);
  earlier_run_ms_ = 0;
  for (const Attempt& attempt : job.attempts) {
    if (attempt.state == AttemptState::kEnded) earlier_run_ms_ += attempt.run_ms;
    ended_unsaved_ = ended_unsaved_ || attempt.unsaved_at_term;
  }
  must_leave_ = IsFinal(job.state) || launch == nullptr || launch->closed;
  if (event.store_now) store_ahead_ = *event.store_now - record_at_->wall;
  HearKept(launch, now);
  if (phase_ == AgentPhase::kKept) return StayKept(out);
  if (phase_ == AgentPhase::kIdle || phase_ == AgentPhase::kEnded) {
    FindWork(job, out);
    HeedMove(job, now, out);
    return;
  }
  const Attempt* mine = FindAttempt(job, attempt_.number);
  const bool over = mine == nullptr || mine->state == AttemptState::kEnded;
  if (mine != nullptr) attempt_ = *mine;
  HeedMove(job, now, out);
  if (phase_ == AgentPhase::kWaiting) {
    const auto rank = static_cast<size_t>(report_.rank);
    const bool replaced =
        rank >= attempt_.launches.size() || attempt_.launches[rank] != config_.launch;
    if (must_leave_ || over || replaced) {  // nothing was claimed, so there is nothing to end
      phase_ = AgentPhase::kIdle;
      FindWork(job, out);
    } else if (attempt_.state != AttemptState::kProvisioning) {
      Claim(out);  // also when it is to stop already: the record waits for this node's end
    }
  } else if (must_leave_ || over || attempt_.ending) {
    Stop(StopCause::kTold, now, out);
  }
}

// The oldest open attempt that lists our launch and that we have not finished: a restarted agent
// must first account for the attempt that its forerunner was in.
void Supervisor::FindWork(const Job& job, Actions& out) {
  if (must_leave_ && kept_end_) return StayKept(out);
  if (must_leave_) {
    phase_ = AgentPhase::kOff;
    out.push_back(PowerOff{IsFinal(job.state) ? "the job ended" : "the launch is closed"});
    return;
  }
  for (const Attempt& attempt : job.attempts) {
    if (attempt.state == AttemptState::kEnded) continue;
    const auto& launches = attempt.launches;
    const auto at = std::find(launches.begin(), launches.end(), config_.launch);
    if (at == launches.end()) continue;
    if (attempt.number <= finished_attempt_) return;  // our end of it has not been taken note of
    report_.rank = static_cast<int>(at - launches.begin());
    Assign(attempt, out);
    return;
  }
}

// Its time may become shorter: its owner needs the machine no more.
void Supervisor::HearKept(const Launch* launch, Instant now) {
  std::optional<WallTime> until;
  if (must_leave_ && launch != nullptr && !BugIsOn("kept-powers-off")) until = launch->kept_until;
  if (until == kept_until_) return;
  kept_until_ = until;
  kept_end_.reset();
  if (!until) return;
  const Duration left = *until - (now.wall + store_ahead_);
  if (left.ms > 0) kept_end_ = {now.mono + left, now.wall + left};
}

void Supervisor::StayKept(Actions& out) {
  if (!kept_end_) {
    phase_ = AgentPhase::kOff;
    out.push_back(PowerOff{"the job failed, and its machine is not needed any more"});
    return;
  }
  const bool told = phase_ == AgentPhase::kKept && told_end_ == kept_end_->wall;
  phase_ = AgentPhase::kKept;
  if (told || BugIsOn("kept-for-ever")) return;
  told_end_ = kept_end_->wall;
  out.push_back(KeepMachine{kept_end_->wall});
}

void Supervisor::Claim(Actions& out) {
  phase_ = AgentPhase::kClaiming;
  report_.phase = NodePhase::kWaiting;
  out.push_back(ClaimSlot{attempt_.number, report_.rank});
}

void Supervisor::Assign(const Attempt& attempt, Actions& out) {
  attempt_ = attempt;
  unnoted_since_.reset();
  report_.attempt = attempt.number;
  report_.end.reset();
  report_.stopped = false;
  report_.end_checked = false;
  report_.stderr_tail.clear();
  report_.missing_outputs.clear();
  report_.unkept = 0;
  report_.unkept_in.clear();
  report_.at_term.clear();
  report_.left_newer_ms = 0;
  saving_ = {};
  report_.restored.clear();
  report_.restore_error.clear();
  report_.run_ms = 0;
  report_.master_port = 0;
  stop_cause_ = StopCause::kNone;
  signalled_ = false;
  told_to_end_ = false;
  started_ = false;
  setup_error_.clear();
  exit_ = {};
  early_exit_.reset();
  memory_limit_ = 0;
  kill_at_.reset();
  if (attempt.state == AttemptState::kProvisioning) {
    SetPhase(AgentPhase::kWaiting, NodePhase::kWaiting, out);
    out.push_back(Hurry{});
  } else {
    Claim(out);
  }
}

// A machine that stood still, or an agent that was stopped, may wake up long after the others gave
// it up: what it read before is no leave to start anything. Either clock may have stood still, too.
bool Supervisor::RecordIsFresh(Instant now) const {
  if (!record_at_) return false;
  const Duration wall = now.wall - record_at_->wall;
  return now.mono - record_at_->mono <= kRecordIsFresh && wall <= kRecordIsFresh &&
         wall >= Duration{} - kRecordIsFresh;
}

// Whoever looks moves the record when there is something to do for this node, and each time that a
// machine which it waits for is refused, lost or replaced.
bool Supervisor::IsUnwatched(Instant now) const {
  const bool waits = phase_ == AgentPhase::kIdle || phase_ == AgentPhase::kWaiting;
  return config_.left_to_others && waits && RecordIsFresh(now) &&
         now.mono - still_since_ >= kLeaveUnwatched && !BugIsOn("waiting-stays");
}

void Supervisor::HearReports(const std::vector<NodeReport>& reports, Instant now) {
  if (phase_ != AgentPhase::kEnded || BugIsOn("ended-stays")) return;
  for (const NodeReport& report : reports) {
    if (report.attempt != attempt_.number || report.phase != NodePhase::kEnded) continue;
    if (report.rank != report_.rank || report.incarnation != report_.incarnation) continue;
    if (!unnoted_since_) unnoted_since_ = now.mono;
  }
  if (!unnoted_since_) return;
  for (const NodeReport& report : reports) {
    if (report.rank == report_.rank || report.phase == NodePhase::kEnded) continue;
    const bool known = std::any_of(peers_.begin(), peers_.end(), [&](const NodeReport& peer) {
      return peer.attempt == report.attempt && peer.rank == report.rank && peer.seq == report.seq &&
             peer.incarnation == report.incarnation;
    });
    if (!known) unnoted_since_ = now.mono;
  }
}

void Supervisor::On(const ReportsRead& event, Instant now, Actions& out) {
  HearReports(event.reports, now);
  peers_ = event.reports;
  TryStart(now, out);
}

bool Supervisor::gathers() const {
  // Nothing of its job is for it (yet).
  if (phase_ == AgentPhase::kIdle || phase_ == AgentPhase::kWaiting) return true;
  if (phase_ != AgentPhase::kReady) return false;
  for (size_t rank = 0; rank < attempt_.launches.size(); ++rank) {
    const bool heard =
        static_cast<int>(rank) == report_.rank ||
        std::any_of(peers_.begin(), peers_.end(), [&](const NodeReport& peer) {
          return peer.rank == static_cast<int>(rank) && peer.launch == attempt_.launches[rank];
        });
    if (!heard) return true;
  }
  return false;
}

// The gang barrier: every node of the attempt is Ready, so every address is known.
void Supervisor::TryStart(Instant now, Actions& out) {
  if (phase_ != AgentPhase::kReady || (term_at_ && now.mono >= *term_at_)) return;
  std::vector<std::string> addresses(attempt_.launches.size());
  int port = report_.master_port;
  addresses[static_cast<size_t>(report_.rank)] = report_.address;
  for (const NodeReport& peer : peers_) {
    const auto rank = static_cast<size_t>(peer.rank);
    if (peer.attempt != attempt_.number || rank >= addresses.size() || peer.rank == report_.rank) {
      continue;
    }
    if (peer.launch != attempt_.launches[rank]) continue;
    // A short program may have ended already; one that failed never lets the others start.
    if (peer.phase == NodePhase::kWaiting || peer.phase == NodePhase::kStaging) continue;
    if (peer.end && peer.end->reason != EndReason::kCompleted) continue;
    addresses[rank] = peer.address;
    if (rank == 0) port = peer.master_port;
  }
  for (const std::string& address : addresses) {
    if (address.empty()) return;
  }
  // Until somebody can have read of this node, its launch may be given up as one whose machine
  // never came, by who has told it so in the record: that is to be read first (seed 4000117480). A
  // pass follows the report.
  if (!told_) return;
  if (!RecordIsFresh(now)) {
    out.push_back(Hurry{});  // the reports that come with the record bring us back here
    return;
  }
  phase_ = AgentPhase::kRunning;
  out.push_back(StartProgram{attempt_.number, report_.rank, addresses, port});
}

}  // namespace stoker
