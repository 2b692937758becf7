// SPDX-License-Identifier: Apache-2.0
// Attempts: opened, begun, drained, ended, and what follows.
#include <algorithm>
#include <charconv>
#include <set>

#include "base/deliberate_bug.h"
#include "base/text.h"
#include "job/checkpoint_name.h"
#include "policy/boots.h"
#include "policy/retry.h"
#include "reconcile/pass.h"

namespace stoker::reconcile_internal {
namespace {

std::string Text(const Attempt& attempt) { return "attempt " + std::to_string(attempt.number); }

bool Usable(const Pass& pass, int number) {
  const Launch* launch = FindLaunch(pass.out.job, number);
  if (launch == nullptr || launch->closed || pass.MachineGone(number)) return false;
  if (IsLeft(pass.out.job, *launch) && !BugIsOn("move-keeps-launch")) return false;
  return !pass.Noticed(number) || IsAwaitedBack(pass, *launch);
}

// True when the machine itself failed the attempt: another one may do better. A checkpoint that
// cannot be restored is not the machine's fault.
bool HadFault(const Pass& pass, const Attempt& attempt, int rank) {
  const Ending* end = pass.EndOf(attempt, rank);
  return end != nullptr && end->reason == EndReason::kNodeFault &&
         pass.Report(attempt, rank)->report.restore_error.empty();
}

// Checkpoint ids are "<attempt>-<seq>"; another job's have that job's id in front, and are of no
// attempt of this one.
int AttemptOfCheckpoint(const std::string& id) {
  int attempt = 0;
  const auto [end, error] = std::from_chars(id.data(), id.data() + id.size(), attempt);
  const bool own =
      error == std::errc() && id.substr(static_cast<size_t>(end - id.data()), 1) == "-";
  return own && id.find('/') == std::string::npos ? attempt : 0;
}

}  // namespace

void OpenAttempt(Pass& pass, const Attempt* from) {
  Attempt next;
  next.opened = pass.seen.now;
  next.number = 1;
  for (const Attempt& attempt : pass.job().attempts) {
    next.number = std::max(next.number, attempt.number + 1);
  }
  const std::vector<int> old = from != nullptr ? from->launches : std::vector<int>();
  for (int slot = 0; slot < pass.job().num_nodes; ++slot) {
    const auto at = static_cast<size_t>(slot);
    const bool keep = at < old.size() && Usable(pass, old[at]) && !HadFault(pass, *from, slot);
    next.launches.push_back(keep ? old[at] : 0);
  }
  FillSlots(pass, &next.launches);
  pass.Changed(Text(next) + " opened");
  pass.job().attempts.push_back(std::move(next));
}

namespace {

// An attempt that has not begun may still change its machines: nothing was claimed for it. What was
// refused would be refused again: it is left for the attempt to fail of, once it is its turn.
void ReplaceLaunches(Pass& pass, size_t index) {
  std::vector<int> launches = pass.job().attempts[index].launches;
  for (int& number : launches) {
    const Launch* launch = FindLaunch(pass.job(), number);
    const bool refused = launch != nullptr && launch->close_reason == CloseReason::kRefused &&
                         !IsLeft(pass.job(), *launch);
    if (!refused && !Usable(pass, number)) number = 0;
  }
  FillSlots(pass, &launches);
  pass.job().attempts[index].launches = launches;
}

void MarkEnded(Pass& pass, Attempt& attempt, const Ending& ending) {
  attempt.state = AttemptState::kEnded;
  attempt.ending = ending;
  attempt.ended = pass.seen.now;
  pass.Changed(Text(attempt) + " ended, " + std::string(Name(ending.reason)) + ": " + ending.why);
}

}  // namespace

void MarkNotNeeded(Pass& pass, Attempt& attempt, const std::string& why) {
  Ending ending;
  ending.reason = EndReason::kCancelled;
  ending.why = "not needed: " + why;
  attempt.not_needed = true;
  MarkEnded(pass, attempt, ending);
}

namespace {

void FinishJob(Pass& pass, JobState state, const Ending& result) {
  Job& job = pass.job();
  for (Attempt& attempt : job.attempts) {
    if (attempt.state != AttemptState::kEnded) {
      MarkNotNeeded(pass, attempt, "the job ended");
    }
  }
  job.state = state;
  job.result = result;
  job.ended = pass.seen.now;
  job.retry_after.reset();
  pass.Changed("job " + std::string(Name(state)) + ": " + result.why);
}

std::string TroubleAtEnd(const Pass& pass, const Attempt& attempt) {
  std::set<std::string> said;
  for (int rank = 0; rank < NumNodes(attempt); ++rank) {
    const ReportSeen* report = pass.Report(attempt, rank);
    const bool ended = report != nullptr && report->report.phase == NodePhase::kEnded;
    if (ended && !report->report.trouble.empty()) said.insert(report->report.trouble);
  }
  return CutText(Join({said.begin(), said.end()}, "; "), kMostTrouble);
}

void SumUpUnkept(const Pass& pass, Attempt& attempt) {
  attempt.unkept = 0;
  attempt.unkept_in.clear();
  for (int rank = 0; rank < NumNodes(attempt); ++rank) {
    const ReportSeen* report = pass.Report(attempt, rank);
    if (report == nullptr || report->report.phase != NodePhase::kEnded) continue;
    attempt.unkept += report->report.unkept;
    if (attempt.unkept_in.empty()) attempt.unkept_in = report->report.unkept_in;
  }
}

// One node that saved is enough: often it is rank 0 alone that does.
bool UnsavedAtTerm(const Pass& pass, const Attempt& attempt) {
  bool unsaved = false;
  for (int rank = 0; rank < NumNodes(attempt); ++rank) {
    const ReportSeen* report = pass.Report(attempt, rank);
    if (report == nullptr || report->report.phase != NodePhase::kEnded) continue;
    if (report->report.at_term == "saved") return false;
    unsaved = unsaved || report->report.at_term == "unsaved";
  }
  return unsaved;
}

// What the reports and the list of checkpoints say of an attempt that is over.
void SumUp(Pass& pass, Attempt& attempt) {
  for (int rank = 0; rank < NumNodes(attempt); ++rank) {
    const ReportSeen* report = pass.Report(attempt, rank);
    if (report != nullptr) attempt.run_ms = std::max(attempt.run_ms, report->report.run_ms);
  }
  attempt.missing_outputs = MissingOutputs(pass, attempt);
  attempt.trouble = TroubleAtEnd(pass, attempt);
  SumUpUnkept(pass, attempt);
  attempt.unsaved_at_term = UnsavedAtTerm(pass, attempt);
  if (pass.seen.checkpoints->empty()) return;
  const Generation& own = pass.seen.checkpoints->front();
  const std::string left = AsLeftName(attempt.number);
  if (std::find(own.as_left.begin(), own.as_left.end(), left) != own.as_left.end()) {
    attempt.as_left = left;
    for (int rank = 0; rank < NumNodes(attempt); ++rank) {
      const ReportSeen* report = pass.Report(attempt, rank);
      if (report == nullptr) continue;
      attempt.left_newer_ms = std::max(attempt.left_newer_ms, report->report.left_newer_ms);
    }
  }
  for (const std::string& id : own.whole) {
    if (AttemptOfCheckpoint(id) == attempt.number) {
      attempt.newest_checkpoint = id;  // the list is newest first
      break;
    }
  }
}

// Attempts after `index` may also be there and Ended: those that a withdrawn notice made needless.
bool SuccessorOpen(Pass& pass, size_t index) {
  const auto& attempts = pass.job().attempts;
  return std::any_of(attempts.begin() + static_cast<ptrdiff_t>(index) + 1, attempts.end(),
                     [](const Attempt& a) { return a.state != AttemptState::kEnded; });
}

bool RestoreFailed(const Pass& pass, const Attempt& attempt) {
  return std::any_of(pass.seen.reports.begin(), pass.seen.reports.end(), [&](const ReportSeen& r) {
    return r.report.attempt == attempt.number && !r.report.restore_error.empty();
  });
}

// Ends attempt `index`, and decides what follows, in one write.
void Conclude(Pass& pass, size_t index) {
  if (!pass.seen.checkpoints) {
    pass.out.want_checkpoints = true;
    return;
  }
  Job& job = pass.job();
  SumUp(pass, job.attempts[index]);
  MarkEnded(pass, job.attempts[index], FinalEnding(pass, job.attempts[index]));
  const AfterAttempt after = ChooseAfterAttempt(job, pass.spec, job.attempts[index],
                                                RestoreFailed(pass, job.attempts[index]));
  pass.out.notes.push_back("next: " + after.why);
  const Attempt& ended = job.attempts[index];
  if (ended.ending->reason != EndReason::kLaunchRefused) {
    Arrive(pass, ended);
  } else if (MoveUnderWay(job) != nullptr && !IsLeft(job, ended)) {
    GiveUpMove(pass, ended.ending->why);
  }
  if (job.cancel && after.retry) {
    Ending cancelled = *job.attempts[index].ending;
    cancelled.reason = EndReason::kCancelled;
    cancelled.why = "cancelled by " + job.cancel->by;
    FinishJob(pass, JobState::kCancelled, cancelled);
    return;
  }
  if (!after.retry) {
    FinishJob(pass, after.state, after.result);
    if (!BugIsOn("finish-falls-through")) return;
  }
  if (!after.suspect.empty()) {
    job.suspects.push_back(after.suspect);
    // What it made of a suspect is no better.
    const std::string& left = job.attempts[index].as_left;
    if (!left.empty()) job.suspects.push_back(left);
  }
  if (after.counts_as_error_restart && !BugIsOn("restarts-uncounted")) ++job.error_restarts;
  job.retry_after.reset();
  if (after.delay.ms > 0) job.retry_after = pass.seen.now + after.delay;
  if (!SuccessorOpen(pass, index)) {
    const Attempt from = job.attempts[index];
    OpenAttempt(pass, &from);
  }
}

bool AnyNoticed(const Pass& pass, const Attempt& attempt) {
  for (int rank = 0; rank < NumNodes(attempt); ++rank) {
    if (pass.NoticeOn(attempt, rank) != nullptr) return true;
  }
  return false;
}

// All machines that are taken from it come up again.
bool OnlyStops(const Pass& pass, const Attempt& attempt) {
  for (int rank = 0; rank < NumNodes(attempt); ++rank) {
    if (pass.NoticeOn(attempt, rank) == nullptr) continue;
    const Launch* launch = FindLaunch(pass.out.job, attempt.launches[static_cast<size_t>(rank)]);
    if (launch == nullptr || !IsStopNotice(pass, *launch)) return false;
  }
  return true;
}

// The notice: this attempt drains, and the next is opened at once so that its machines boot while
// this one still trains; where none is needed, once it has ended.
void Drain(Pass& pass, size_t index) {
  Attempt& attempt = pass.job().attempts[index];
  WallTime until{};
  for (int rank = 0; rank < NumNodes(attempt); ++rank) {
    if (const Notice* notice = pass.NoticeOn(attempt, rank)) until = std::max(until, notice->until);
  }
  if (attempt.state == AttemptState::kDraining && attempt.drain_until == until) return;
  attempt.state = AttemptState::kDraining;
  attempt.drain_until = until;
  attempt.noticed = true;
  pass.Changed(Text(attempt) + " draining until " + FormatRfc3339(until));
  if (!SuccessorOpen(pass, index) && !pass.job().cancel && !OnlyStops(pass, attempt)) {
    const Attempt from = attempt;
    OpenAttempt(pass, &from);
  }
}

// The notice was withdrawn, or the node that had it has completed its part: this attempt goes on,
// and the next is not needed.
void Undrain(Pass& pass, size_t index) {
  Attempt& attempt = pass.job().attempts[index];
  attempt.state = attempt.running ? AttemptState::kRunning : AttemptState::kStaging;
  attempt.drain_until.reset();
  pass.Changed(Text(attempt) + " goes on: no machine that it needs is taken any more");
  for (size_t later = index + 1; later < pass.job().attempts.size(); ++later) {
    Attempt& next = pass.job().attempts[later];
    if (next.state == AttemptState::kEnded) continue;  // of an earlier notice that was withdrawn
    if (MoveUnderWay(pass.job()) != nullptr && !IsLeft(pass.job(), next)) continue;
    MarkNotNeeded(pass, next, "the one before it goes on");
  }
}

void MarkRunning(Pass& pass, Attempt& attempt) {
  for (int rank = 0; rank < NumNodes(attempt); ++rank) {
    const ReportSeen* report = pass.Report(attempt, rank);
    if (report == nullptr) return;
    const NodePhase phase = report->report.phase;
    if (phase == NodePhase::kRunning || phase == NodePhase::kDraining) continue;
    // A short program may have ended on one node before another has reported that it runs.
    const auto& end = report->report.end;
    if (!end || end->reason != EndReason::kCompleted) return;
  }
  attempt.state = AttemptState::kRunning;
  attempt.running = pass.seen.now;
  if (!pass.job().cancel) pass.job().state = JobState::kRunning;
  pass.Changed(Text(attempt) + " running");
  Arrive(pass, attempt);
}

void AdvanceBegun(Pass& pass, size_t index) {
  Attempt* attempt = &pass.job().attempts[index];
  if (!attempt->ending) {
    if (auto reason = ReasonToStop(pass, *attempt)) {
      attempt->ending = *reason;
      if (!AllStopped(pass, *attempt)) {
        pass.Changed(Text(*attempt) + " stops, " + std::string(Name(reason->reason)) + ": " +
                     reason->why);
      }
    } else if (AnyNoticed(pass, *attempt)) {
      Drain(pass, index);
    } else if (attempt->state == AttemptState::kDraining) {
      Undrain(pass, index);
    } else if (attempt->state == AttemptState::kStaging) {
      MarkRunning(pass, *attempt);
    }
  }
  attempt = &pass.job().attempts[index];
  // Only when the record as read tells the nodes to stop: a machine that comes now reads it.
  if (pass.before.attempts.size() > index && pass.before.attempts[index].ending) {
    CloseNotArrived(pass, index);
  }
  const bool stopped = AllStopped(pass, *attempt) || BugIsOn("ends-before-stopped");
  if (attempt->ending && stopped) Conclude(pass, index);
}

// Where there is a choice of places, an attempt begins when all its machines have come: until then,
// a place that refuses can be left for another. One that is refused for good is not waited for, nor
// are the others: the attempt fails of it.
bool IsReadyToBegin(const Pass& pass, const Attempt& attempt) {
  bool all_have_come = true;
  for (const int number : attempt.launches) {
    const Launch* launch = FindLaunch(pass.out.job, number);
    if (launch == nullptr) continue;
    if (launch->closed) return true;  // ReplaceLaunches has left it, as it was refused
    all_have_come &= pass.Machine(number) != nullptr || pass.NewestReport(number) != nullptr;
  }
  return all_have_come;
}

// Of a job whose user was told that it goes on from something, when there is nothing to go on from:
// why it does not begin at the start; "" = it does. The same code, once it has failed on all that
// there was, may as well be tried without.
std::string WhyNotFromTheStart(const Job& job) {
  const std::string& what = job.promised.empty() ? job.from : job.promised;
  bool tried = false;
  bool failed_on_it = false;
  for (const Attempt& attempt : job.attempts) {
    tried |= !attempt.restore.empty();
    failed_on_it |= !attempt.restore.empty() && attempt.ending &&
                    attempt.ending->reason == EndReason::kUserError;
  }
  if (what.empty() || (failed_on_it && job.from.empty())) return "";
  return "it was to go on from " + what + ", and " +
         (tried ? "nothing is left to try: what it could go on from failed or is gone"
                : "no checkpoint of that is there: it was removed, or cannot be read any more") +
         ". It does not begin at the start by itself";
}

// The last attempt begins once everything before it is over: the checkpoint is chosen for good.
void Begin(Pass& pass) {
  Job& job = pass.job();
  const size_t index = job.attempts.size() - 1;
  if (job.attempts[index].state != AttemptState::kProvisioning) return;
  ReplaceLaunches(pass, index);
  for (size_t i = 0; i < index; ++i) {
    if (job.attempts[i].state != AttemptState::kEnded && !BugIsOn("begins-while-draining")) return;
  }
  if (job.retry_after && pass.seen.now < *job.retry_after) return;
  // Nothing is claimed for it: one that does not come up again is replaced.
  for (const int number : job.attempts[index].launches) {
    const Launch* launch = FindLaunch(job, number);
    if (launch != nullptr && IsAwaitedBack(pass, *launch)) return;
  }
  if (OffersOf(pass).size() > 1 && !IsReadyToBegin(pass, job.attempts[index])) return;
  if (const std::string why = WhyBootsFail(job, OffersOf(pass)); !why.empty()) {
    Ending nothing;
    nothing.reason = EndReason::kNoProgress;
    nothing.why = why;
    FinishJob(pass, JobState::kFailed, nothing);
    return;
  }
  std::string restore;
  if (index > 0 || !job.retry_of.empty()) {
    if (!pass.seen.checkpoints) {
      pass.out.want_checkpoints = true;
      return;
    }
    restore = ChooseRestore(job, *pass.seen.checkpoints);
  }
  if (const std::string why = restore.empty() ? WhyNotFromTheStart(job) : ""; !why.empty()) {
    Ending nothing;
    nothing.reason = EndReason::kNoProgress;
    nothing.why = why;
    FinishJob(pass, JobState::kFailed, nothing);
    return;
  }
  Attempt& attempt = job.attempts[index];
  attempt.state = AttemptState::kStaging;
  attempt.restore = restore;
  job.retry_after.reset();
  pass.Changed(Text(attempt) + " begins from " + (restore.empty() ? "the start" : restore));
}

}  // namespace

void AdvanceAttempts(Pass& pass) {
  Job& job = pass.job();
  if (job.cancel && job.state != JobState::kStopping) {
    job.state = JobState::kStopping;
    pass.Changed("stopping: cancelled by " + job.cancel->by);
  }
  AdvanceMove(pass);
  for (size_t index = 0; index < job.attempts.size(); ++index) {
    const AttemptState state = job.attempts[index].state;
    if (state == AttemptState::kEnded || state == AttemptState::kProvisioning) continue;
    AdvanceBegun(pass, index);
    if (IsFinal(job.state)) return;
  }
  const bool begun = std::any_of(job.attempts.begin(), job.attempts.end(), [](const Attempt& a) {
    return a.state != AttemptState::kEnded && a.state != AttemptState::kProvisioning;
  });
  if (job.cancel && !begun) {
    Ending cancelled;
    cancelled.reason = EndReason::kCancelled;
    cancelled.why = "cancelled by " + job.cancel->by + " before the program ran";
    FinishJob(pass, JobState::kCancelled, cancelled);
    return;
  }
  const bool open = std::any_of(job.attempts.begin(), job.attempts.end(),
                                [](const Attempt& a) { return a.state != AttemptState::kEnded; });
  if (!open) OpenAttempt(pass, nullptr);  // the first, or the next after a move that was given up
  if (!job.cancel) Begin(pass);
}

}  // namespace stoker::reconcile_internal
