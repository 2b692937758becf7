// SPDX-License-Identifier: Apache-2.0
#include "agent/look_pace.h"

#include <algorithm>
#include <string>
#include <utility>

namespace stoker {
namespace {

// A job in which nothing has happened for so long is looked at half as often.
constexpr Duration kQuiet = Duration::Seconds(3);
// But not more seldom than this because of it.
constexpr Duration kQuietPoll = Duration::Seconds(5);
// With peers, glances are so much more frequent than alone: a failure of one must stop the others
// soon.
constexpr int kPeersGlance = 2;
// A job of several nodes in which nothing has happened for so long waits for something, as for a
// machine: its nodes take turns.
constexpr Duration kWaits = Duration::Minutes(1);
// One look at a job in so many parts of StoreTraits::look, and so many of its nodes in turn.
constexpr int kLookouts = 2;
// Later than this, and it is not given up by anybody who looks (recovery: controller).
constexpr Duration kLeftToOthers = Duration::Minutes(5);

bool Has(const std::vector<int>& launches, int number) {
  return std::find(launches.begin(), launches.end(), number) != launches.end();
}

bool Trains(const NodeReport& report) {
  return report.phase == NodePhase::kRunning && !report.notice && !report.end;
}

bool Completed(const NodeReport& report) {
  return report.phase == NodePhase::kEnded && report.end &&
         report.end->reason == EndReason::kCompleted;
}

// It trains, or will.
bool IsAtWork(const NodeReport& report) {
  return report.phase <= NodePhase::kRunning && !report.notice && !report.end;
}

// Nodes are waited for, and none has anything to say. Each still glances at the record, in which
// all that ends the waiting is written.
bool OnlyWaits(const Job& job, const std::vector<ReportSeen>& reports) {
  if (IsFinal(job.state) || job.cancel || job.attempts.empty() || job.num_nodes <= 1) return false;
  const Attempt& attempt = job.attempts.back();
  if (attempt.state > AttemptState::kStaging || attempt.ending) return false;
  for (const Attempt& other : job.attempts) {
    if (&other != &attempt && other.state != AttemptState::kEnded) return false;
  }
  return std::all_of(reports.begin(), reports.end(), [&](const ReportSeen& seen) {
    return seen.report.attempt != attempt.number || IsAtWork(seen.report);
  });
}

// Who of a job that waits is there. Not the record: while no machine is to be had, others are asked
// for in there, again and again.
std::string NodesOf(const Job& job, const std::vector<ReportSeen>& reports,
                    const std::vector<MachineSeen>& machines) {
  std::string nodes;
  for (const ReportSeen& seen : reports) {
    if (!Has(job.attempts.back().launches, seen.report.launch)) continue;
    nodes += " " + std::to_string(seen.report.launch) + std::string(Name(seen.report.phase));
  }
  for (const MachineSeen& machine : machines) {
    if (machine.state == MachineState::kGone) continue;
    nodes += " " + machine.instance_id + std::to_string(static_cast<int>(machine.state));
  }
  return nodes;
}

// Those nodes of `attempt` that are at work, by rank.
std::vector<const ReportSeen*> AtWork(const Attempt& attempt,
                                      const std::vector<ReportSeen>& reports) {
  std::vector<const ReportSeen*> nodes(attempt.launches.size(), nullptr);
  for (const ReportSeen& seen : reports) {
    const auto rank = static_cast<size_t>(seen.report.rank);
    if (seen.report.attempt != attempt.number || rank >= nodes.size()) continue;
    if (seen.report.launch == attempt.launches[rank] && IsAtWork(seen.report)) nodes[rank] = &seen;
  }
  std::erase(nodes, nullptr);
  return nodes;
}

}  // namespace

bool IsUndisturbed(const Job& job, const std::vector<ReportSeen>& reports,
                   const std::vector<MachineSeen>& machines) {
  // Whose machines are kept: their time is in the record.
  const auto kept = [](const Launch& launch) { return launch.kept_until.has_value(); };
  if (IsFinal(job.state) && std::any_of(job.launches.begin(), job.launches.end(), kept))
    return true;
  if (job.state != JobState::kRunning || job.cancel || job.attempts.empty()) return false;
  const Attempt& attempt = job.attempts.back();
  if (attempt.state != AttemptState::kRunning || attempt.ending) return false;
  for (const Attempt& other : job.attempts) {
    if (&other != &attempt && other.state != AttemptState::kEnded) return false;
  }
  for (const Launch& launch : job.launches) {
    if (launch.closed == Has(attempt.launches, launch.number)) return false;
  }
  for (const MachineSeen& machine : machines) {
    const bool ours = Has(attempt.launches, machine.launch);
    if (machine.state != (ours ? MachineState::kRunning : MachineState::kGone)) return false;
  }
  size_t settled = 0;
  bool trains = false;
  for (const auto& [report, age, unchanged] : reports) {
    if (report.attempt != attempt.number || !Has(attempt.launches, report.launch)) continue;
    if (!Trains(report) && !Completed(report)) return false;
    trains |= Trains(report);
    ++settled;
  }
  return trains && settled == attempt.launches.size();
}

// A healthy node's report is hardly older than the time between two, and what it takes to gather
// and to write one: seconds. Where the store has refused one it may be older for once, and is
// waited for. Its own, a node knows to be on its way.
bool LookPace::IsLate(const ReportSeen& seen) const {
  return seen.report.launch != launch_ && seen.age >= traits_.report * 3 / 2;
}

bool LookPace::Whole(MonoTime now) const {
  return traits_.requests_are_free || !undisturbed_ || (next_ && now >= *next_);
}

void LookPace::Looked(MonoTime begun, const Job& job, const std::vector<ReportSeen>& reports,
                      const std::vector<MachineSeen>& machines, bool changed,
                      std::optional<WallTime> store_now) {
  alone_ = job.num_nodes <= 1;
  // What others may be waiting for; the counters in reports are nobody's news.
  std::string state = std::to_string(job.rev);
  for (const ReportSeen& seen : reports) {
    state += " " + std::to_string(seen.report.attempt) + "-" + std::to_string(seen.report.rank) +
             std::string(Name(seen.report.phase));
  }
  if (state != state_) changed_at_ = begun;
  state_ = std::move(state);
  std::string nodes =
      launch_ != 0 && OnlyWaits(job, reports) ? NodesOf(job, reports, machines) : "";
  if (nodes != waits_ || nodes.empty()) waits_since_ = begun;
  waits_ = std::move(nodes);
  undisturbed_ =
      !changed && (begun - waits_since_ >= kWaits || IsUndisturbed(job, reports, machines));
  if (undisturbed_) ShareLooks(begun, job, reports, store_now);
}

// A node that is late is no lookout. Who looks, looks often until it is heard of again or given up;
// who heeds others, leaves that to them. Where a node hears of none but itself, it is the store
// that takes no reports: the first two alone look often then. And nobody does for a node that is
// late for so long that whoever may give it up does not look.
void LookPace::ShareLooks(MonoTime begun, const Job& job, const std::vector<ReportSeen>& reports,
                          std::optional<WallTime> store_now) {
  heeded_.clear();
  heard_ = begun;
  if (IsFinal(job.state)) {
    next_ = Next(begun, TurnOfKept(job), job, store_now);
    return;
  }
  Turn turn{0, 0};
  bool looks = launch_ == 0;
  bool late = false;
  bool first = launch_ == 0;
  bool others = false;
  int rank = 0;
  for (const ReportSeen* seen : AtWork(job.attempts.back(), reports)) {
    const NodeReport& report = seen->report;
    const bool own = report.launch == launch_;
    first = first || (own && rank < kLookouts);
    ++rank;
    late = late || (IsLate(*seen) && seen->age < kLeftToOthers);
    others = others || (!own && !IsLate(*seen));
    if (IsLate(*seen) || turn.of == kLookouts) continue;
    if (own) {
      looks = true;
      turn.index = turn.of;
    }
    ++turn.of;
    heeded_.push_back({{report.attempt, report.rank},
                       report.launch,
                       report.phase,
                       report.seq,
                       report.incarnation,
                       begun});
  }
  next_.reset();
  if (!looks && !heeded_.empty()) return;
  heeded_.clear();
  undisturbed_ = !late || (!first && !others);
  next_ = Next(begun, turn, job, store_now);
}

// Nodes of machines that are kept do not report, so nobody can heed another: all look, more seldom.
LookPace::Turn LookPace::TurnOfKept(const Job& job) const {
  Turn turn{0, 0};
  for (const Launch& launch : job.launches) {
    if (launch.number == launch_) turn.index = turn.of;
    if (launch.kept_until) ++turn.of;
  }
  return turn;
}

// They are told apart by the store's clock, which is the same for all of them. The first look comes
// a little sooner or later for that.
MonoTime LookPace::Next(MonoTime begun, const Turn& turn, const Job& job,
                        std::optional<WallTime> store_now) const {
  if (launch_ == 0) return begun + std::max(traits_.poll, traits_.look);
  const Duration each = std::max(traits_.poll, traits_.look / kLookouts);
  const Duration round = each * std::max(turn.of, kLookouts);
  if (!store_now || turn.of <= 1) return begun + round;
  const int64_t since = (*store_now - job.created - each * turn.index).ms % round.ms;
  const Duration left = Duration::Ms(since < 0 ? -since : round.ms - since);
  return begun + (left < round / 4 ? left + round : left);
}

std::vector<LookPace::Slot> LookPace::Heeds(MonoTime now) const {
  std::vector<Slot> slots;
  if (!undisturbed_ || now - heard_ < traits_.look / kLookouts) return slots;
  for (const Lookout& lookout : heeded_) slots.push_back(lookout.slot);
  return slots;
}

void LookPace::OnReport(MonoTime now, const Slot& slot, const std::optional<NodeReport>& report) {
  heard_ = now;
  for (Lookout& lookout : heeded_) {
    if (lookout.slot.attempt != slot.attempt || lookout.slot.rank != slot.rank) continue;
    if (!report || report->attempt != slot.attempt || report->launch != lookout.launch ||
        !IsAtWork(*report) || report->phase != lookout.phase) {
      return Disturb();
    }
    if (report->seq != lookout.seq || report->incarnation != lookout.incarnation) {
      lookout.seq = report->seq;
      lookout.incarnation = report->incarnation;
      lookout.since = now;
    } else if (now - lookout.since >= traits_.report * 2) {
      return Disturb();
    }
  }
}

Duration LookPace::Pause(MonoTime now) const {
  const Duration poll = traits_.poll;
  if (undisturbed_ && !traits_.requests_are_free) {
    const Duration glance = alone_ ? traits_.glance : traits_.glance / kPeersGlance;
    const Duration left = (next_ ? *next_ : heard_ + traits_.look / kLookouts) - now;
    return std::max(poll, std::min(glance, left));
  }
  const bool quiet = now - changed_at_ >= std::max(kQuiet, poll * 20);
  return quiet ? std::max(poll, std::min(poll * 2, kQuietPoll)) : poll;
}

}  // namespace stoker
