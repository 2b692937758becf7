// SPDX-License-Identifier: Apache-2.0
#include "reconcile/reconcile.h"

#include "base/deliberate_bug.h"
#include "reconcile/pass.h"

namespace stoker {
namespace reconcile_internal {

const Request& Pass::RequestOf(const Launch& launch) const {
  const Request& found = stoker::RequestOf(out.job, launch);
  return found.number != 0 ? found : stoker::RequestOf(before, launch);
}

// That of a part, where there is one: it says less.
const PlaceSeen& Pass::PlaceOf(const stoker::Place& where) const {
  static const PlaceSeen kNothing;
  const PlaceSeen* found = nullptr;
  for (const PlaceSeen& place : seen.places) {
    if (!MayBeIn(where, place)) continue;
    if (found == nullptr || !place.known) found = &place;
  }
  return found == nullptr ? kNothing : *found;
}

const PlaceSeen& Pass::Place(const Launch& launch) const {
  return PlaceOf(RequestOf(launch).ask.place);
}

const MachineSeen* Pass::Machine(int launch) const {
  const MachineSeen* found = nullptr;
  for (const MachineSeen& machine : seen.machines) {
    // A launch that was asked for twice can show two machines: one that lives says more.
    const bool over = found != nullptr && found->state >= MachineState::kStopped;
    if (machine.launch == launch && (found == nullptr || (over && machine.state < found->state))) {
      found = &machine;
    }
  }
  return found;
}

bool Pass::MachineGone(int launch) const {
  const MachineSeen* machine = Machine(launch);
  return machine != nullptr && machine->state == MachineState::kGone;
}

const ReportSeen* Pass::Report(const Attempt& attempt, int rank) const {
  for (const ReportSeen& seen_report : seen.reports) {
    const NodeReport& report = seen_report.report;
    if (report.attempt == attempt.number && report.rank == rank &&
        report.launch == attempt.launches[static_cast<size_t>(rank)]) {
      return &seen_report;
    }
  }
  return nullptr;
}

const ReportSeen* Pass::NewestReport(int launch) const {
  const ReportSeen* newest = nullptr;
  for (const ReportSeen& report : seen.reports) {
    if (report.report.launch == launch &&
        (newest == nullptr || report.report.attempt > newest->report.attempt)) {
      newest = &report;
    }
  }
  return newest;
}

bool Pass::Noticed(int launch) const {
  const ReportSeen* report = NewestReport(launch);
  return report != nullptr && report->report.notice && report->report.notice->action != kMoveAction;
}

const Ending* Pass::JudgedEnd(const Attempt& attempt, int rank) const {
  const ReportSeen* report = Report(attempt, rank);
  return report != nullptr && report->report.end ? &*report->report.end : nullptr;
}

const Ending* Pass::EndOf(const Attempt& attempt, int rank) const {
  const Ending* end = JudgedEnd(attempt, rank);
  return end != nullptr && Report(attempt, rank)->report.phase == NodePhase::kEnded ? end : nullptr;
}

bool Pass::CompletedAt(const Attempt& attempt, int rank) const {
  const Ending* end = EndOf(attempt, rank);
  return end != nullptr && end->reason == EndReason::kCompleted;
}

const Notice* Pass::NoticeOn(const Attempt& attempt, int rank) const {
  if (CompletedAt(attempt, rank)) return nullptr;
  const ReportSeen* report = NewestReport(attempt.launches[static_cast<size_t>(rank)]);
  if (report == nullptr || !report->report.notice) return nullptr;
  const Notice& notice = *report->report.notice;
  // One of a move that was given up since will be taken back.
  if (notice.action == kMoveAction && !IsToldToMove(out.job, attempt.number)) return nullptr;
  return &notice;
}

}  // namespace reconcile_internal

bool MayBeIn(const Place& place, const PlaceSeen& part) {
  const auto fits = [](const std::string& asked, const std::string& one) {
    return asked.empty() || one.empty() || asked == one;
  };
  return place.provider == part.provider && fits(place.account, part.account) &&
         fits(place.region, part.region) && fits(place.zone, part.zone);
}

Decision Reconcile(const Job& job, const JobSpec& spec, const Observed& seen) {
  using namespace reconcile_internal;
  Pass pass{job, spec, seen, {}};
  pass.out.job = job;
  // Written with whatever is to be written next: before that, nothing goes by it.
  pass.out.job.booted |= !seen.reports.empty();
  RememberAbsent(pass);
  if (!IsFinal(job.state) || BugIsOn("ended-job-goes-on")) {
    CloseDeadLaunches(pass);
    AdvanceAttempts(pass);
    CloseRemainders(pass);
    CloseUnusedLaunches(pass);
    ChooseSends(pass);
    ChooseStarts(pass);
    FoldOld(pass);
  }
  ChooseTerminations(pass);
  pass.out.retire = IsFinal(job.state) && NothingIsLeft(pass);
  return std::move(pass.out);
}

}  // namespace stoker
