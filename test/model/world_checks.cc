// SPDX-License-Identifier: Apache-2.0
// What must hold after every event, and how it must end.
#include <algorithm>

#include "job/encoding.h"
#include "policy/drain.h"
#include "test/model/world.h"

namespace stoker::model {

void World::Breach(const std::string& what) {
  if (!breach_.empty()) return;
  breach_ = what;
  Tell("BREACH: " + what);
}

void World::CheckWrite(const Job& before, const Job& after) {
  if (IsFinal(before.state)) {
    const bool same =
        before.state == after.state && before.launches.size() == after.launches.size();
    if (!same) Breach("done-is-done: an ended job changed");
  }
  for (size_t i = 0; i < before.launches.size(); ++i) {
    const Launch& old = before.launches[i];
    const Launch* now = FindLaunch(after, old.number);
    if (now == nullptr) return Breach("a launch left the record");
    if (old.closed && !now->closed) Breach("a closed launch was opened again");
    if (old.token != now->token || old.slot != now->slot) Breach("intent-first: an entry changed");
  }
  if (after.rev > 3000) Breach("a storm of writes");
  CheckAttempts(before, after);
}

void World::CheckAttempts(const Job& before, const Job& after) {
  int open = 0;
  for (const Attempt& now : after.attempts) {
    if (now.state != AttemptState::kEnded) ++open;
    const Attempt* old = FindAttempt(before, now.number);
    const bool was_begun = old != nullptr && old->state != AttemptState::kProvisioning;
    const bool begun = now.state != AttemptState::kProvisioning;
    if (begun && !was_begun && now.state != AttemptState::kEnded) CheckRestore(now, after);
    if (!was_begun) continue;
    if (old->state == AttemptState::kEnded && now.state != AttemptState::kEnded) {
      Breach("an ended attempt goes on");
    }
    if (old->launches != now.launches) Breach("an attempt that had begun changed its machines");
    if (old->restore != now.restore) Breach("an attempt that had begun changed its checkpoint");
  }
  if (open > 2) Breach("more than two attempts are open");
  if (after.attempts.size() < before.attempts.size()) Breach("an attempt left the record");
}

// An attempt begins from the newest checkpoint that is committed at that moment and not suspect.
void World::CheckRestore(const Attempt& attempt, const Job& after) {
  const Checkpoint* newest = nullptr;
  for (const Checkpoint& c : checkpoints_) {
    const auto& suspects = after.suspects;
    if (std::find(suspects.begin(), suspects.end(), c.id) != suspects.end()) continue;
    const bool newer =
        newest == nullptr || std::pair(c.attempt, c.seq) > std::pair(newest->attempt, newest->seq);
    if (newer) newest = &c;
  }
  const std::string expected = newest == nullptr ? "" : newest->id;
  if (attempt.restore == expected) return;
  Breach("attempt " + std::to_string(attempt.number) + " begins from '" + attempt.restore +
         "', but '" + expected + "' is committed");
}

bool World::NoticeRanOut(int attempt, int rank) const {
  const auto report = reports_.find({attempt, rank});
  return report != reports_.end() && report->second.report.notice &&
         now_ > (report->second.report.notice->until + kDrainSlack).ms;
}

// What is committed after the next attempt chose its checkpoint is work that is lost.
void World::CheckCommit(const Checkpoint& checkpoint) {
  for (const Attempt& attempt : record_.attempts) {
    if (attempt.number <= checkpoint.attempt || NoticeRanOut(checkpoint.attempt, 0)) continue;
    if (attempt.state == AttemptState::kStaging || attempt.state == AttemptState::kRunning) {
      Breach("checkpoint " + checkpoint.id + " comes too late for attempt " +
             std::to_string(attempt.number));
    }
  }
}

// one-machine and no-fork.
void World::CheckStart(const Machine& machine, const Program& program) {
  const auto claim = claims_.find({program.attempt, program.rank});
  if (claim == claims_.end() || claim->second != std::pair(machine.id, machine.incarnation)) {
    Breach("one-machine: a program starts without the claim");
  }
  if (machine.program) Breach("one-machine: two programs on one machine");
  for (const auto& [id, other] : machines_) {
    if (id == machine.id || !other.program) continue;
    if (other.program->attempt == program.attempt && other.program->rank == program.rank) {
      Breach("one-machine: two programs of one slot in one attempt");
    }
    if (other.program->attempt == program.attempt) continue;
    if (!NoticeRanOut(other.program->attempt, other.program->rank)) {
      Breach("no-fork: attempts " + std::to_string(other.program->attempt) + " and " +
             std::to_string(program.attempt) + " run at once");
    }
  }
}

void World::CheckEndMachine(const Machine& machine) {
  const Launch* launch = FindLaunch(record_, machine.launch);
  if (launch == nullptr || !launch->closed) Breach("no-blind-kill: its launch is open");
}

void World::CheckRequest(int number, const std::string& token) {
  const Launch* launch = FindLaunch(record_, number);
  if (launch == nullptr || launch->token != token) {
    Breach("intent-first: a request without its entry");
  }
}

void World::CheckSame(const Decision& a, const Decision& b) {
  const bool same = EncodeJob(a.job) == EncodeJob(b.job) && a.send == b.send &&
                    a.terminate == b.terminate && a.changed == b.changed && a.notes == b.notes;
  if (!same) Breach("the same inputs gave two decisions");
}

bool World::ClearedUp() const {
  if (!retired_) return false;
  for (const auto& [id, machine] : machines_) {
    if (!machine.gone) return false;
  }
  return true;
}

void World::CheckOutcome() {
  if (!ClearedUp()) Breach("machines or the active mark are left");
  for (const Launch& launch : record_.launches) {
    if (!launch.closed) Breach("a launch is left open");
  }
  for (const Attempt& attempt : record_.attempts) {
    if (attempt.state != AttemptState::kEnded) Breach("an attempt is left open");
  }
  const Ending& result = *record_.result;
  const std::string got = std::string(Name(record_.state)) + " " +
                          std::string(Name(result.reason)) + " " + std::to_string(result.exit_code);
  const bool cancelled = record_.state == JobState::kCancelled && record_.cancel;
  bool right = record_.state == JobState::kSucceeded;
  if (plan_.refused) {
    right = result.reason == EndReason::kLaunchRefused;
  } else if (plan_.setup_fails || (plan_.crash_at >= 0 && !plan_.crash_once)) {
    // The survivors of a gang may be seen to fail (with 1) before the node that is the cause.
    right = record_.state == JobState::kFailed &&
            (result.exit_code == plan_.crash_code || (plan_.nodes > 1 && result.exit_code == 1));
  } else if (plan_.max_duration) {
    right = right || result.reason == EndReason::kTimedOut;
  }
  const int last = plan_.steps - plan_.steps % plan_.checkpoint_every;
  const bool saved = last == 0 || std::any_of(checkpoints_.begin(), checkpoints_.end(),
                                              [&](const Checkpoint& c) { return c.step >= last; });
  if (record_.state == JobState::kSucceeded && !saved) Breach("the last checkpoint is missing");
  if (!right && !cancelled) Breach("the wrong result: " + got + ", " + result.why);
}

}  // namespace stoker::model
