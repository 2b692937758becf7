// SPDX-License-Identifier: Apache-2.0
#include "agent/look_pace.h"

#include <algorithm>
#include <string>

namespace stoker {
namespace {

// A job in which nothing has happened for so long is looked at half as often.
constexpr Duration kQuiet = Duration::Seconds(3);
// But not more seldom than this because of it.
constexpr Duration kQuietPoll = Duration::Seconds(5);
// With peers, looks are so much more frequent than alone: one that has fallen silent is found by
// them, and a failure of one must stop the others soon.
constexpr int kPeersLook = 3;
constexpr int kPeersGlance = 2;

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

Duration LookPace::WholeEvery() const {
  return std::max(traits_.poll, alone_ ? traits_.look : traits_.look / kPeersLook);
}

bool LookPace::Whole(MonoTime now) const {
  return traits_.requests_are_free || !undisturbed_ || now - looked_ >= WholeEvery();
}

void LookPace::Looked(MonoTime begun, const Job& job, const std::vector<ReportSeen>& reports,
                      const std::vector<MachineSeen>& machines, bool changed) {
  looked_ = begun;
  alone_ = job.num_nodes <= 1;
  undisturbed_ = !changed && IsUndisturbed(job, reports, machines);
  // What others may be waiting for; the counters in reports are nobody's news.
  std::string state = std::to_string(job.rev);
  for (const ReportSeen& seen : reports) {
    state += " " + std::to_string(seen.report.attempt) + "-" + std::to_string(seen.report.rank) +
             std::string(Name(seen.report.phase));
  }
  if (state != state_) changed_at_ = begun;
  state_ = std::move(state);
}

Duration LookPace::Pause(MonoTime now) const {
  const Duration poll = traits_.poll;
  if (undisturbed_ && !traits_.requests_are_free) {
    const Duration glance = alone_ ? traits_.glance : traits_.glance / kPeersGlance;
    const Duration left = looked_ + WholeEvery() - now;
    return std::max(poll, std::min(glance, left));
  }
  const bool quiet = now - changed_at_ >= std::max(kQuiet, poll * 20);
  return quiet ? std::max(poll, std::min(poll * 2, kQuietPoll)) : poll;
}

}  // namespace stoker
